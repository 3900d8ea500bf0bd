/** Seconds that are left until a deadline (`performance.now()`), and a moment if it has passed. */
export const secondsUntil = (deadline: number): number => Math.max(0.001, (deadline - performance.now()) / 1000)
