import { Yielder } from '../lib/yielder.ts'
import { scopeFor, type User } from '../model/access.ts'
import type { Model } from '../model/model.ts'
import { PAGE_BYTES } from '../storage/size.ts'
import type { MaybePromise } from '../storage/storage.ts'
import type { Feed, ModelFilter, Owned } from './feed.ts'

/** Where a stream goes: an HTTP response, of which only this is known here. */
export interface Sink {
  /** what has not been read on the other side */
  readonly writableLength: number
  /** nobody is there any more */
  readonly destroyed: boolean
  write(text: string | Buffer): boolean
  end(): void
  once(event: 'close' | 'drain', listener: () => void): unknown
}

export interface Listener {
  user: User
  wanted: ModelFilter
  sink: Sink
  /** the person as they are now; undefined if the session has ended */
  ask(): MaybePromise<User | undefined>
}

/** Whether somebody may still read all models that they have asked for. */
export const mayListen = ({ models }: Feed, { user, wanted }: Listener): boolean =>
  [...(wanted ?? [])].every((name) => {
    const model = models.get(name)
    return model !== undefined && scopeFor(model, 'read', user) !== 'none'
  })

/** A change, and how it is told; undefined if that cannot be found out now. */
export interface RenderedChange extends Owned {
  text: string | undefined
}

/** Characters of what was told last that are remembered: others may be told the same. */
const MAX_REMEMBERED = 16_000_000
/** Changes that are looked up together. */
const AT_ONCE = 20
/** How long changes are made into texts before others have their turn. */
const IN_ONE_GO_MS = 5

/** Makes changes into what is told of them: once, however many listen. */
export function createRenderer(feed: Feed, onError: (error: unknown) => void) {
  const known = new Map<number, RenderedChange & { text: string }>()
  let size = 0

  /** Ends earlier where that gets too large, after the first. */
  return async function render(changes: Owned[]): Promise<RenderedChange[]> {
    const told: RenderedChange[] = []
    let left = PAGE_BYTES
    const yielder = new Yielder(IN_ONE_GO_MS)
    for (let from = 0; from < changes.length; from += AT_ONCE) {
      for (const one of await together(changes.slice(from, from + AT_ONCE))) {
        left -= one.text?.length ?? 0
        if (left < 0 && told.length > 0) return told
        told.push(one)
      }
      if (yielder.isDue) await yielder.yield()
    }
    return told
  }

  /** Records are looked up at once, the changes of each in their order. */
  async function together(changes: Owned[]): Promise<RenderedChange[]> {
    const made = new Map<number, RenderedChange>()
    const byRecord = Map.groupBy(changes, ({ model, id }) => `${model} ${id}`)
    const each = [...byRecord.values()].map(async (group) => {
      for (const one of group) made.set(one.change, known.get(one.change) ?? (await remembered(one)))
    })
    await Promise.all(each)
    return changes.map(({ change }) => made.get(change) as RenderedChange)
  }

  async function remembered(owned: Owned): Promise<RenderedChange> {
    const { createdBy: _, ...change } = owned
    try {
      const record = await feed.recordAfter(change)
      const data = JSON.stringify({ ...change, ...(record !== undefined && { record }) })
      const text = `id: ${change.change}\nevent: ${change.operation}\ndata: ${data}\n\n`
      remember({ ...owned, text })
      return { ...owned, text }
    } catch (error) {
      // The table may be changing: whoever would see this change is told later, and nobody else waits.
      onError(error)
      return { ...owned, text: undefined }
    }
  }

  function remember(told: RenderedChange & { text: string }) {
    known.set(told.change, told)
    size += told.text.length
    while (size > MAX_REMEMBERED) {
      const [oldest] = known.values() as Iterable<RenderedChange & { text: string }> as [
        RenderedChange & { text: string },
      ]
      known.delete(oldest.change)
      size -= oldest.text.length
    }
  }
}

/**
 * Writes to a listener what they may see. All who see the same are told by the same bytes. Returns how much that was;
 * undefined, and nothing is written, if something of it cannot be told now.
 */
export function createBroadcast(feed: Feed, told: RenderedChange[]) {
  const names = [...new Set(told.map(({ model }) => model))]
  const known = new Map<string, Buffer | undefined>()
  return ({ user, wanted, sink }: Listener): number | undefined => {
    const isWanted = (name: string) => !wanted || wanted.has(name)
    const scopes = names.map((name) => isWanted(name) && scopeFor(feed.models.get(name) as Model, 'read', user))
    const key = `${scopes} ${scopes.includes('own') ? user.username : ''}`
    if (!known.has(key)) known.set(key, toBytes(told.filter((one) => isWanted(one.model) && feed.isSeenBy(user, one))))
    const bytes = known.get(key)
    if (bytes && bytes.length > 0) sink.write(bytes)
    return bytes?.length
  }
}

function toBytes(told: RenderedChange[]): Buffer | undefined {
  const texts = told.map(({ text }) => text)
  return texts.includes(undefined) ? undefined : Buffer.from(texts.join(''))
}
