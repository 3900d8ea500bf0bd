import { hash } from 'node:crypto'

const FIRST_SIZE = 1024

/** Set of texts with the place of their first occurrence. A slot takes 12 bytes, so millions of texts fit in memory. */
export class SeenTexts {
  #high = new Uint32Array(FIRST_SIZE)
  #low = new Uint32Array(FIRST_SIZE)
  /** 0 in an empty slot */
  #places = new Uint32Array(FIRST_SIZE)
  #count = 0

  /** Adds a text with its place (1 or more); returns its earlier place if it was seen before. */
  add(text: string, place: number): number | undefined {
    // 64 bits of the hash: a collision among a million texts is as unlikely as a hardware fault.
    const digest = hash('sha256', text, 'buffer')
    const before = this.#put(digest.readUInt32LE(0), digest.readUInt32LE(4), place)
    if (before === undefined && ++this.#count * 2 > this.#places.length) this.#grow()
    return before
  }

  #put(high: number, low: number, place: number): number | undefined {
    const mask = this.#places.length - 1
    let at = low & mask
    for (; this.#places[at] !== 0; at = (at + 1) & mask)
      if (this.#high[at] === high && this.#low[at] === low) return this.#places[at]
    this.#high[at] = high
    this.#low[at] = low
    this.#places[at] = place
    return undefined
  }

  #grow() {
    const [high, low, places] = [this.#high, this.#low, this.#places]
    const size = places.length * 2
    this.#high = new Uint32Array(size)
    this.#low = new Uint32Array(size)
    this.#places = new Uint32Array(size)
    for (const [at, place] of places.entries()) if (place !== 0) this.#put(high[at] as number, low[at] as number, place)
  }
}
