/** Wraps `act` so that it runs at most once per `ms`; calls in between are ignored. */
export function throttle<Words extends unknown[]>(ms: number, act: (...words: Words) => void, last = 0) {
  let then = last
  return (...words: Words) => {
    const now = Date.now()
    // If the last run lies in the future, the clock was set back: then `act` runs.
    if (then <= now && now < then + ms) return
    then = now
    act(...words)
  }
}
