import { unavailable } from '../../errors.ts'
import { Limiter } from '../../lib/limiter.ts'
import type { Storage } from '../../storage/storage.ts'

/** Imports that are worked at at once; the others wait in line. Each has a thread. */
const MAX_IMPORTS = 4

/** Bytes of uploads on the disk, as so many of the largest. */
const MAX_UPLOADS = 4

interface Places {
  /** who has one under way, from the first byte on: there is no more than one of each in line */
  people: Set<string>
  turns: Limiter
  /** bytes of all uploads that are on the disk */
  bytes: number
}

const known = new WeakMap<Storage, Places>()

function limitsFor(storage: Storage): Places {
  const places = known.get(storage) ?? { people: new Set(), turns: new Limiter(MAX_IMPORTS), bytes: 0 }
  known.set(storage, places)
  return places
}

/** One of each person at a time, for it takes room on the disk. Returns how to give the place back. */
export function claimImport(storage: Storage, username: string): () => void {
  const { people } = limitsFor(storage)
  if (people.has(username)) throw unavailable('You have an import under way already. Try again when it is done.', 10)
  people.add(username)
  return () => people.delete(username)
}

/** Waits for a turn, and does it: who sends slowly keeps nobody from working. */
export const runInTurn = <Result>(storage: Storage, work: () => Promise<Result>): Promise<Result> =>
  limitsFor(storage).turns.run(work)

/** Counts what one upload writes to the disk; too much of all together is refused. Returns how to count it out. */
export function countUpload(storage: Storage, limit: number): { add(bytes: number): void; clear(): void } {
  const places = limitsFor(storage)
  let own = 0
  return {
    add: (bytes) => {
      if (places.bytes + bytes > MAX_UPLOADS * limit)
        throw unavailable('Too much is being imported right now. Try again when some of it is done.', 30)
      places.bytes += bytes
      own += bytes
    },
    clear: () => {
      places.bytes -= own
      own = 0
    },
  }
}
