/** Wraps `act` so that it runs at most once per `ms`; calls in between are ignored. */
export function throttle<Args extends unknown[]>(ms: number, act: (...args: Args) => void, last = 0) {
  let lastRun = last
  return (...args: Args) => {
    const now = Date.now()
    // If the last run lies in the future, the clock was set back: then `act` runs.
    if (lastRun <= now && now < lastRun + ms) return
    lastRun = now
    act(...args)
  }
}
