import { Yielder } from './yielder.ts'

/** Collects what takes long to make all at once. Blocks the thread for at most about `ms` at a time. */
export async function collect<Piece>(pieces: Iterable<Piece>, ms: number): Promise<Piece[]> {
  const all: Piece[] = []
  const yielder = new Yielder(ms)
  for (const piece of pieces) {
    all.push(piece)
    if (yielder.isDue) await yielder.yield()
  }
  return all
}
