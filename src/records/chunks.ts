/** A page that would be larger ends earlier, with `next`. */
export const PAGE_BYTES = 1_048_576

/** Rows are taken to be this large until they are known. */
const UNKNOWN = PAGE_BYTES / 16

/** What is left of a page's bytes. */
export interface Room {
  left: number
}

/**
 * Says how many rows to read at a time, so that little is read in vain: as many as fit into a page if all were as large as
 * the largest that was seen lately. That is only a guess; how much is taken in the end is always measured.
 */
export class Chunks {
  #largest = UNKNOWN

  /** how many rows to read next, of those that are still wanted */
  next(wanted: number): number {
    return Math.min(wanted, Math.max(1, Math.floor(PAGE_BYTES / this.#largest)))
  }

  /** Large ones may be gone again: what was learnt fades. */
  learn(largest: number): void {
    this.#largest = Math.max(largest, this.#largest * 0.9, 1)
  }
}
