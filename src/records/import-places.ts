import { unavailable } from '../errors.ts'
import { Turnstile } from '../lib/turnstile.ts'
import type { Storage } from '../storage/storage.ts'

/** Imports that are worked at at once; the others wait in line. Each has a thread. */
const MOST = 4

interface Places {
  /** who has one under way, from the first byte on: there is no more than one of each in line */
  people: Set<string>
  turns: Turnstile
}

const known = new WeakMap<Storage, Places>()

function placesOf(storage: Storage): Places {
  const places = known.get(storage) ?? { people: new Set(), turns: new Turnstile(MOST) }
  known.set(storage, places)
  return places
}

/** One of each person at a time, for it takes room on the disk. Returns how to give the place back. */
export function takePlace(storage: Storage, username: string): () => void {
  const { people } = placesOf(storage)
  if (people.has(username)) throw unavailable('You have an import under way already. Try again when it is done.', 10)
  people.add(username)
  return () => people.delete(username)
}

/** Waits for a turn, and does it: who sends slowly keeps nobody from working. */
export const inTurn = <Result>(storage: Storage, work: () => Promise<Result>): Promise<Result> =>
  placesOf(storage).turns.pass(work)
