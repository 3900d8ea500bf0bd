/** A function that does something at most every so many milliseconds, and else nothing. */
export function throttle<Words extends unknown[]>(ms: number, act: (...words: Words) => void, last = 0) {
  let then = last
  return (...words: Words) => {
    const now = Date.now()
    // A moment that is still to come is none: the clock was set back.
    if (then <= now && now < then + ms) return
    then = now
    act(...words)
  }
}
