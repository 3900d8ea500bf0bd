import { Yielder } from './yielder.ts'

/** Collects the pieces of a slow generator into an array. Yields to other requests about every `ms` milliseconds. */
export async function collect<Piece>(pieces: Iterable<Piece>, ms: number): Promise<Piece[]> {
  const all: Piece[] = []
  const yielder = new Yielder(ms)
  for (const piece of pieces) {
    all.push(piece)
    if (yielder.isDue) await yielder.yield()
  }
  return all
}
