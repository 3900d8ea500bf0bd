import { setTimeout } from 'node:timers/promises'
import { Yielder } from '../lib/yielder.ts'
import { isUnchanged, type User } from '../model/access.ts'
import type { Models } from '../model/model.ts'
import type { Storage } from '../storage/storage.ts'
import { CatchUp, type Served } from './catch-up.ts'
import { createFeed, readNewest } from './feed.ts'
import { createBroadcast, createRenderer, type Listener, mayListen, type RenderedChange } from './listeners.ts'
import { AT_A_TIME, canTake, greeting, MAX_PAUSE_MS, mark, type Stream } from './stream.ts'

const TIMES = {
  /** how often it is looked whether another process has changed something */
  look: 250,
  /** and whether everybody may still listen, a part of them at a time */
  ask: 1000,
  /** so often something is sent, so that proxies do not take a stream for dead */
  awake: 15_000,
}
const PARTS = 10
/** How long streams are written to in one go: then others have their turn. */
const IN_ONE_GO_MS = 5
/** Changes that come close together are sent together; the more there is to send, the longer the pause. */
const SHORTEST_PAUSE_MS = 5

/**
 * All that listen to the feed of changes. Each stream has only a position: what it has not read is in the journal, so that
 * a slow reader costs no memory. Those that are up to date are told together, and what they are told is made once.
 */
export class Streams {
  readonly #storage: Storage
  readonly #onError: (error: unknown) => void
  readonly #streams = new Set<Stream>()
  readonly #behind = new CatchUp({
    wake: () => this.wake(),
    isOpen: (stream) => this.#streams.has(stream),
    end: (stream) => this.#end(stream),
  })
  #feed: Served
  /** what was served until lately: changes up to a number are still told by it */
  #former: { feed: Served; until: number } | undefined
  /** what everybody who is live has been told */
  #told = 0
  readonly #times: typeof TIMES
  #timers: NodeJS.Timeout[] = []
  /** who has not been looked after in this round */
  #unminded: Stream[] = []
  #isAtIt = false
  #isWoken = false
  #isClosed = false
  #notBefore = 0

  constructor(storage: Storage, models: Models, onError: (error: unknown) => void, times = TIMES) {
    this.#times = times
    this.#storage = storage
    this.#onError = onError
    this.#feed = this.#served(models)
  }

  get size(): number {
    return this.#streams.size
  }

  countOf(username: string): number {
    return [...this.#streams].filter(({ user }) => user.username === username).length
  }

  /** Other models count from now on; what was committed before is told by those that were there. */
  serve(models: Models): void {
    const former = { feed: this.#feed, until: Number.MAX_SAFE_INTEGER }
    // If it cannot be found out, those of now tell all of it.
    void readNewest(this.#storage).then(
      (newest) => (former.until = newest),
      () => (former.until = 0),
    )
    this.#former = former
    this.#feed = this.#served(models)
    for (const stream of this.#streams) {
      if (!mayListen(this.#feed, stream)) this.#end(stream)
      else stream.sink.write('event: models\ndata: {}\n\n')
    }
    this.wake()
  }

  #served(models: Models): Served {
    const feed = createFeed(this.#storage, models)
    return { ...feed, render: createRenderer(feed, this.#onError) }
  }

  /** Goes on after a change, or from now. */
  async open(listener: Listener, since?: number): Promise<void> {
    const newest = await readNewest(this.#storage)
    if (listener.sink.destroyed) return
    if (this.#streams.size === 0) this.#begin(newest)
    const position = since ?? this.#told
    const isLive = position === this.#told
    const stream: Stream = {
      ...listener,
      position,
      isLive,
      isAwaited: false,
      writtenAt: performance.now(),
      notBefore: 0,
    }
    this.#streams.add(stream)
    if (!isLive) this.#behind.add(stream)
    stream.sink.once('close', () => this.#forget(stream))
    stream.sink.write(greeting(stream))
    if (this.#isClosed) this.#end(stream)
    else this.wake()
  }

  /** Something has been committed. */
  wake(): void {
    if (this.#streams.size === 0) return
    this.#isWoken = true
    if (this.#isAtIt) return
    this.#isAtIt = true
    void this.#work()
  }

  /** Ends all streams at once, and every one that is opened from now on. */
  close(): void {
    this.#isClosed = true
    for (const stream of this.#streams) this.#end(stream)
  }

  #begin(newest: number) {
    // While the last ones are still being told, what they were told counts for who comes now.
    if (!this.#isAtIt) this.#told = newest
    this.#timers = [
      setInterval(() => this.wake(), this.#times.look).unref(),
      setInterval(() => this.#mind().catch(this.#onError), this.#times.ask / PARTS).unref(),
    ]
  }

  #forget(stream: Stream) {
    if (!this.#streams.delete(stream)) return
    this.#behind.remove(stream)
    if (this.#streams.size > 0) return
    for (const timer of this.#timers) clearInterval(timer)
  }

  #end(stream: Stream) {
    stream.sink.end()
    this.#forget(stream)
  }

  /** Looks after a part of the streams: who may listen, and who has not been sent anything for long. */
  async #mind(): Promise<void> {
    if (this.#unminded.length === 0) this.#unminded = [...this.#streams]
    for (const stream of this.#unminded.splice(0, Math.ceil(this.#streams.size / PARTS))) {
      const now = await this.#ask(stream)
      if (!this.#streams.has(stream)) continue
      // Whoever has logged out, or got other roles, is let go; they come back as who they are now.
      if (!isUnchanged(now, stream.user)) this.#end(stream)
      else if (stream.writtenAt <= performance.now() - this.#times.awake && canTake(stream)) {
        stream.writtenAt = performance.now()
        stream.sink.write(mark(stream))
      }
    }
  }

  /** Who somebody is by now; if that cannot be found out, as they were. */
  async #ask(stream: Stream): Promise<User | undefined> {
    try {
      return await stream.ask()
    } catch (error) {
      this.#onError(error)
      return stream.user
    }
  }

  /** Tells until there is nothing left to tell, with pauses in which others have their turn. */
  async #work(): Promise<void> {
    while (this.#isWoken || this.#behind.canBeTold) {
      await setTimeout(Math.max(0, this.#notBefore - performance.now()))
      // What nobody hears is not told, and not remembered: it may be forgotten before somebody comes.
      if (this.#streams.size === 0) break
      const start = performance.now()
      this.#isWoken = false
      try {
        await this.#tellLive()
        await this.#behind.catchUp(this.#feed, this.#told)
      } catch (error) {
        // Nothing can be read now: everybody is told later.
        this.#onError(error)
        this.#notBefore = performance.now() + MAX_PAUSE_MS
        continue
      }
      const took = performance.now() - start
      this.#notBefore = performance.now() + Math.min(MAX_PAUSE_MS, Math.max(SHORTEST_PAUSE_MS, took))
    }
    this.#isAtIt = false
  }

  /** What is new goes to everybody who has all that came before. */
  async #tellLive(): Promise<void> {
    const { feed, until } = this.#teller()
    const { changes, next, isFull } = await feed.all(this.#told, AT_A_TIME, until)
    if (next === this.#told) return
    const told = await feed.render(changes)
    const isCut = told.length < changes.length
    const last = isCut ? (told.at(-1) as RenderedChange).change : next
    const tell = createBroadcast(feed, told)
    const yielder = new Yielder(IN_ONE_GO_MS)
    for (const stream of this.#streams) {
      if (!stream.isLive) continue
      const written = canTake(stream) ? tell(stream) : undefined
      if (written === undefined) this.#behind.add(stream)
      else {
        stream.position = last
        if (written > 0) stream.writtenAt = performance.now()
      }
      if (yielder.isDue) await yielder.yield()
    }
    this.#told = last
    if (isCut || isFull || this.#former) this.#isWoken = true
  }

  /** By whom the next changes are told: those that were committed before the models changed, by the models of then. */
  #teller(): { feed: Served; until: number } {
    if (this.#former && this.#told < this.#former.until) return this.#former
    this.#former = undefined
    return { feed: this.#feed, until: Number.MAX_SAFE_INTEGER }
  }
}
