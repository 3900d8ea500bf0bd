/** A function that does something at most every so many milliseconds, and else nothing. */
export function seldom<Words extends unknown[]>(ms: number, act: (...words: Words) => void, last = 0) {
  let then = last
  return (...words: Words) => {
    if (Date.now() < then + ms) return
    then = Date.now()
    act(...words)
  }
}
