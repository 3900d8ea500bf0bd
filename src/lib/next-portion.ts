/** Size of the next portion, to take about `wantedMs`. It at most doubles, because the first timings tell little. */
export const nextPortion = (last: number, tookMs: number, wantedMs: number, max: number): number =>
  Math.min(Math.ceil((last * wantedMs) / tookMs), last * 2, max)
