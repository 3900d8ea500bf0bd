import { inGroups } from '../lib/in-groups.ts'
import { Yielder } from '../lib/yielder.ts'
import { scopeFor, type User } from '../model/access.ts'
import { PAGE_BYTES } from '../storage/size.ts'
import type { MaybePromise } from '../storage/storage.ts'
import type { Change, OwnedChange } from './change.ts'
import { eventText } from './change-visibility.ts'
import type { Feed, ModelFilter } from './feed.ts'

/** The target of a stream: the part of an HTTP response that is used here. */
export interface Sink {
  /** bytes that the client has not read yet */
  readonly writableLength: number
  /** whether the connection is closed */
  readonly destroyed: boolean
  write(text: string | Buffer): boolean
  end(): void
  once(event: 'close' | 'drain', listener: () => void): unknown
}

export interface Listener {
  user: User
  wanted: ModelFilter
  sink: Sink
  /** Looks the user up again; undefined if the session has ended. */
  refreshUser(): MaybePromise<User | undefined>
}

/** Whether the user may still read all requested models. */
export const mayListen = ({ models }: Feed, { user, wanted }: Listener): boolean =>
  [...(wanted ?? [])].every((name) => {
    const model = models.get(name)
    return model !== undefined && scopeFor(model, 'read', user) !== 'none'
  })

/** A change and the text of its event; undefined if the record cannot be read now. */
export interface RenderedChange extends OwnedChange {
  text: string | undefined
}

/** Characters of rendered texts in the cache; other streams may need the same ones. */
const MAX_CACHED_CHARACTERS = 16_000_000
/** Changes that are rendered concurrently. */
const CONCURRENCY = 20

/** Renders changes as events: each once, however many streams receive it. */
export function createRenderer(feed: Feed, onError: (error: unknown) => void) {
  const renderedChanges = new Map<number, RenderedChange & { text: string }>()
  let size = 0

  /** Returns fewer changes if their texts exceed PAGE_BYTES, but at least one. */
  return async function render(changes: OwnedChange[]): Promise<RenderedChange[]> {
    const rendered: RenderedChange[] = []
    let left = PAGE_BYTES
    const yielder = new Yielder()
    for (const group of inGroups(changes, CONCURRENCY)) {
      for (const one of await renderGroup(group)) {
        left -= one.text?.length ?? 0
        if (left < 0 && rendered.length > 0) return rendered
        rendered.push(one)
      }
      if (yielder.isDue) await yielder.yield()
    }
    return rendered
  }

  /** Renders different records concurrently, and the changes of one record in their order. */
  async function renderGroup(changes: OwnedChange[]): Promise<RenderedChange[]> {
    const made = new Map<number, RenderedChange>()
    const byRecord = Map.groupBy(changes, ({ model, id }) => `${model} ${id}`)
    const each = [...byRecord.values()].map(async (group) => {
      for (const one of group) made.set(one.change, await renderCached(one))
    })
    await Promise.all(each)
    return changes.map(({ change }) => made.get(change) as RenderedChange)
  }

  function renderCached(owned: OwnedChange): MaybePromise<RenderedChange> {
    if (owned.operation === 'leave') return { ...owned, text: eventText(withoutOwner(owned)) }
    return renderedChanges.get(owned.change) ?? renderAndCache(owned)
  }

  async function renderAndCache(owned: OwnedChange): Promise<RenderedChange> {
    const change = withoutOwner(owned)
    try {
      const record = await feed.recordAfter(change)
      const text = eventText({ ...change, ...(record !== undefined && { record }) })
      addToCache({ ...owned, text })
      return { ...owned, text }
    } catch (error) {
      // The table may be changing. Only the streams that would receive this change wait and retry.
      onError(error)
      return { ...owned, text: undefined }
    }
  }

  function addToCache(rendered: RenderedChange & { text: string }) {
    renderedChanges.set(rendered.change, rendered)
    size += rendered.text.length
    while (size > MAX_CACHED_CHARACTERS) {
      const [oldest] = renderedChanges.values() as Iterable<RenderedChange & { text: string }> as [
        RenderedChange & { text: string },
      ]
      renderedChanges.delete(oldest.change)
      size -= oldest.text.length
    }
  }
}

const withoutOwner = ({ createdBy: _, ...change }: OwnedChange): Change => change

/**
 * Creates a function that writes the changes that a listener may see. Listeners that see the same changes share a
 * buffer. The function returns the number of bytes. If one of the changes could not be rendered, it writes nothing and
 * returns undefined.
 */
export function createBroadcast(feed: Feed, rendered: RenderedChange[]) {
  const names = [...new Set(rendered.map(({ model }) => model))]
  const buffersByRights = new Map<string, Promise<Buffer | undefined>>()
  const texts = new Map(rendered.map(({ change, text }) => [change, text]))
  const render = (user: User, visible: OwnedChange[]) =>
    toBytes(
      visible.map((one) =>
        one.operation === 'leave' ? eventText(withoutOwner(one)) : feed.textFor(user, one, texts.get(one.change)),
      ),
    )
  return async ({ user, wanted, sink }: Listener): Promise<number | undefined> => {
    const concerned = names.filter((name) => !wanted || wanted.has(name))
    const key = `${concerned} ${feed.keyFor(user, concerned)}`
    if (!buffersByRights.has(key)) {
      const some = rendered.filter(({ model }) => concerned.includes(model))
      buffersByRights.set(
        key,
        feed.filterVisible(user, some).then((visible) => render(user, visible)),
      )
    }
    const bytes = await buffersByRights.get(key)
    if (bytes && bytes.length > 0) sink.write(bytes)
    return bytes?.length
  }
}

const toBytes = (texts: (string | undefined)[]) => (texts.includes(undefined) ? undefined : Buffer.from(texts.join('')))
