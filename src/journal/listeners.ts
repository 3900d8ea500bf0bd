import { type Person, scopeOf } from '../model/access.ts'
import type { Model } from '../model/model.ts'
import { PAGE_BYTES } from '../storage/size.ts'
import type { Feed, Owned, Wanted } from './feed.ts'

/** Where a stream goes: an HTTP response, of which only this is known here. */
export interface Sink {
  /** what has not been read on the other side */
  readonly writableLength: number
  write(text: string | Buffer): boolean
  end(): void
  once(event: 'close' | 'drain', listener: () => void): unknown
}

export interface Listener {
  person: Person
  wanted: Wanted
  sink: Sink
  /** the person as they are now; undefined if the session has ended */
  ask(): Person | undefined
}

/** Whether somebody may still read all models that they have asked for. */
export const mayListen = ({ models }: Feed, { person, wanted }: Listener): boolean =>
  [...(wanted ?? [])].every((name) => {
    const model = models.get(name)
    return model !== undefined && scopeOf(model, 'read', person) !== 'none'
  })

/** A change, and how it is told. */
export interface Told extends Owned {
  text: string
}

/** How some changes are told: once, however many listen. Ends earlier where that gets too large, after the first. */
export async function eventsOf(feed: Feed, changes: Owned[]): Promise<Told[]> {
  const told: Told[] = []
  let left = PAGE_BYTES
  for (const [owned, record] of await feed.withRecords(changes)) {
    const { createdBy: _, ...change } = owned
    const data = JSON.stringify({ ...change, ...(record !== undefined && { record }) })
    const text = `id: ${change.change}\nevent: ${change.operation}\ndata: ${data}\n\n`
    left -= text.length
    if (left < 0 && told.length > 0) return told
    told.push({ ...owned, text })
  }
  return told
}

/** Writes to a listener what they may see, and returns whether that is anything. All who see the same are told by the same bytes. */
export function tellerOf(feed: Feed, told: Told[]) {
  const names = [...new Set(told.map(({ model }) => model))]
  const known = new Map<string, Buffer>()
  return ({ person, wanted, sink }: Listener) => {
    const isWanted = (name: string) => !wanted || wanted.has(name)
    const scopes = names.map((name) => isWanted(name) && scopeOf(feed.models.get(name) as Model, 'read', person))
    const key = `${scopes} ${scopes.includes('own') ? person.username : ''}`
    const texts = () => told.filter((change) => isWanted(change.model) && feed.isSeenBy(person, change))
    const bytes =
      known.get(key) ??
      Buffer.from(
        texts()
          .map(({ text }) => text)
          .join(''),
      )
    known.set(key, bytes)
    if (bytes.length > 0) sink.write(bytes)
    return bytes.length > 0
  }
}
