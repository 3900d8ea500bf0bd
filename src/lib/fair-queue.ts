/** One queue per name, served round-robin, so a long queue delays no other. */
export class FairQueue<Item> {
  readonly #lines = new Map<string, Item[]>()
  #size = 0

  get size(): number {
    return this.#size
  }

  queueLength(name: string): number {
    return this.#lines.get(name)?.length ?? 0
  }

  add(name: string, item: Item): void {
    const line = this.#lines.get(name)
    if (line) line.push(item)
    else this.#lines.set(name, [item])
    this.#size++
  }

  /** Takes the first item of the queue that was served least recently, among those for which `mayBeServed` holds. */
  next(mayBeServed: (name: string, first: Item) => boolean): Item | undefined {
    for (const [name, line] of this.#lines) {
      if (!mayBeServed(name, line[0] as Item)) continue
      const item = line.shift() as Item
      this.#size--
      // A Map iterates in insertion order, so setting the name again moves it to the end.
      this.#lines.delete(name)
      if (line.length > 0) this.#lines.set(name, line)
      return item
    }
    return undefined
  }

  /** Removes an item that no longer waits; returns whether it was still queued. */
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
