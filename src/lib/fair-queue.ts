/** Who waits, in lines of their own: the lines are served in turn, so that a long one holds up nobody else's. */
export class FairQueue<Item> {
  readonly #lines = new Map<string, Item[]>()
  #size = 0

  get size(): number {
    return this.#size
  }

  lengthOf(name: string): number {
    return this.#lines.get(name)?.length ?? 0
  }

  add(name: string, item: Item): void {
    const line = this.#lines.get(name)
    if (line) line.push(item)
    else this.#lines.set(name, [item])
    this.#size++
  }

  /** The first of the line that was not served for the longest time, of those that may be served now. */
  next(mayBeServed: (name: string, first: Item) => boolean): Item | undefined {
    for (const [name, line] of this.#lines) {
      if (!mayBeServed(name, line[0] as Item)) continue
      const item = line.shift() as Item
      this.#size--
      // A map keeps the order in which names were set: this one goes to the end.
      this.#lines.delete(name)
      if (line.length > 0) this.#lines.set(name, line)
      return item
    }
    return undefined
  }

  /** Somebody does not want to wait any longer. */
  remove(name: string, item: Item): boolean {
    const line = this.#lines.get(name)
    const place = line?.indexOf(item) ?? -1
    if (!line || place < 0) return false
    line.splice(place, 1)
    if (line.length === 0) this.#lines.delete(name)
    this.#size--
    return true
  }
}
