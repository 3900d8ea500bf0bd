/** One queue per name, served round-robin, so a long queue delays no other. */
export class FairQueue<Item> {
  readonly #queues = new Map<string, Item[]>()
  #size = 0

  get size(): number {
    return this.#size
  }

  queueLength(name: string): number {
    return this.#queues.get(name)?.length ?? 0
  }

  add(name: string, item: Item): void {
    const queue = this.#queues.get(name)
    if (queue) queue.push(item)
    else this.#queues.set(name, [item])
    this.#size++
  }

  /** Takes the first item of the queue that was served least recently, among those for which `mayBeServed` holds. */
  next(mayBeServed: (name: string, first: Item) => boolean): Item | undefined {
    for (const [name, queue] of this.#queues) {
      if (!mayBeServed(name, queue[0] as Item)) continue
      const item = queue.shift() as Item
      this.#size--
      // A Map iterates in insertion order, so setting the name again moves it to the end.
      this.#queues.delete(name)
      if (queue.length > 0) this.#queues.set(name, queue)
      return item
    }
    return undefined
  }

  /** Removes an item that no longer waits; returns whether it was still queued. */
  remove(name: string, item: Item): boolean {
    const queue = this.#queues.get(name)
    const place = queue?.indexOf(item) ?? -1
    if (!queue || place < 0) return false
    queue.splice(place, 1)
    if (queue.length === 0) this.#queues.delete(name)
    this.#size--
    return true
  }
}
