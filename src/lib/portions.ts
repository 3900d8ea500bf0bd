/** How much to do at a time, so that it takes so long; it grows slowly, for the first ones tell little. */
export const nextPortion = (last: number, tookMs: number, wantedMs: number, most: number): number =>
  Math.min(Math.ceil((last * wantedMs) / tookMs), last * 2, most)
