import { setTimeout as sleep } from 'node:timers/promises'
import { createAccess } from '../filters/access.ts'
import { Yielder } from '../lib/yielder.ts'
import { hasSameRights, type User } from '../model/access.ts'
import type { Models } from '../model/model.ts'
import type { Storage } from '../storage/storage.ts'
import { CatchUp, type RenderedFeed } from './catch-up.ts'
import { createFeed, hasOtherRights, readNewest } from './feed.ts'
import { createBroadcast, createRenderer, type Listener, mayListen, type RenderedChange } from './render-changes.ts'
import { hasRoom, MAX_PAUSE_MS, openingText, PAGE_SIZE, positionText, type Stream } from './stream.ts'

const TIMES = {
  /** interval for checking whether another process has changed something */
  pollMs: 250,
  /** interval in which all users' rights are checked again, a part of the streams at a time */
  checkRightsMs: 1000,
  /** longest silence of a stream, so that proxies do not close it */
  keepAliveMs: 15_000,
}
/** All streams are checked once in so many rounds. */
const CHECK_ROUNDS = 10
/** Pause between two rounds, so that changes in quick succession are sent together. It grows with a round's length. */
const SHORTEST_PAUSE_MS = 5

/**
 * All streams of the feed of changes. Each has only a position: unread changes stay in the journal, so a slow client
 * costs no memory. Live streams are served together, and each change is rendered once.
 */
export class ChangeStreams {
  readonly #storage: Storage
  readonly #onError: (error: unknown) => void
  readonly #streams = new Set<Stream>()
  readonly #catchUp = new CatchUp({
    wake: () => this.wake(),
    isOpen: (stream) => this.#streams.has(stream),
    end: (stream) => this.#end(stream),
  })
  #feed: RenderedFeed
  /** feed of the previous models, which still renders the changes up to `until` */
  #former: { feed: RenderedFeed; until: number } | undefined
  /** the last change that was sent to the live streams */
  #lastSent = 0
  readonly #times: typeof TIMES
  #timers: NodeJS.Timeout[] = []
  /** streams that `#checkStreams` has not visited in this round */
  #unchecked: Stream[] = []
  #isRunning = false
  #isWoken = false
  #isClosed = false
  #notBefore = 0

  constructor(storage: Storage, models: Models, onError: (error: unknown) => void, times = TIMES) {
    this.#times = times
    this.#storage = storage
    this.#onError = onError
    this.#feed = this.#createFeed(models)
  }

  get size(): number {
    return this.#streams.size
  }

  countStreams(username: string): number {
    return [...this.#streams].filter(({ user }) => user.username === username).length
  }

  /** Switches to other models. Changes that were committed before are still rendered by the previous ones. */
  serve(models: Models): void {
    const former = { feed: this.#feed, until: Number.MAX_SAFE_INTEGER }
    // If the newest change cannot be read, the new models render all changes.
    void readNewest(this.#storage).then(
      (newest) => (former.until = newest),
      () => (former.until = 0),
    )
    this.#former = former
    this.#feed = this.#createFeed(models)
    for (const stream of this.#streams) {
      if (!mayListen(this.#feed, stream)) this.#end(stream)
      else stream.sink.write('event: models\ndata: {}\n\n')
    }
    this.wake()
  }

  #createFeed(models: Models): RenderedFeed {
    const feed = createFeed(this.#storage, models, createAccess(models, this.#storage.db))
    return { ...feed, render: createRenderer(feed, this.#onError) }
  }

  /** Opens a stream that starts after the change `since`, or now. */
  async open(listener: Listener, since?: number): Promise<void> {
    const newest = await readNewest(this.#storage)
    if (listener.sink.destroyed) return
    if (this.#streams.size === 0) this.#begin(newest)
    // By default at `newest`, or at `#lastSent` if that is later by now: up to there, no change can still be committed.
    const position = since ?? Math.max(this.#lastSent, newest)
    const isLive = position === this.#lastSent
    const stream: Stream = {
      ...listener,
      position,
      isLive,
      isAwaited: false,
      writtenAt: performance.now(),
      notBefore: 0,
    }
    this.#streams.add(stream)
    if (!isLive) this.#catchUp.add(stream)
    stream.sink.once('close', () => this.#remove(stream))
    stream.sink.write(openingText(stream))
    if (this.#isClosed) this.#end(stream)
    else this.wake()
  }

  /** Sends new changes; to be called after each commit. */
  wake(): void {
    if (this.#streams.size === 0) return
    this.#isWoken = true
    if (this.#isRunning) return
    this.#isRunning = true
    void this.#work()
  }

  /** Ends all streams, and every stream that is opened later. */
  close(): void {
    this.#isClosed = true
    for (const stream of this.#streams) this.#end(stream)
  }

  #begin(newest: number) {
    // If `#work` is still running for former streams, it keeps its own position.
    if (!this.#isRunning) this.#lastSent = newest
    this.#timers = [
      setInterval(() => this.wake(), this.#times.pollMs).unref(),
      setInterval(() => this.#checkStreams().catch(this.#onError), this.#times.checkRightsMs / CHECK_ROUNDS).unref(),
    ]
  }

  #remove(stream: Stream) {
    if (!this.#streams.delete(stream)) return
    this.#catchUp.remove(stream)
    if (this.#streams.size > 0) return
    for (const timer of this.#timers) clearInterval(timer)
  }

  #end(stream: Stream) {
    stream.sink.end()
    this.#remove(stream)
  }

  /** Visits a part of the streams: ends those whose users have lost rights, and writes to those that were silent. */
  async #checkStreams(): Promise<void> {
    if (this.#unchecked.length === 0) this.#unchecked = [...this.#streams]
    for (const stream of this.#unchecked.splice(0, Math.ceil(this.#streams.size / CHECK_ROUNDS))) {
      const now = await this.#refreshUser(stream)
      if (!this.#streams.has(stream)) continue
      // Ended if the user has logged out or has other roles; the client reconnects with the new rights.
      if (!hasSameRights(now, stream.user)) this.#end(stream)
      else if (stream.writtenAt <= performance.now() - this.#times.keepAliveMs && hasRoom(stream)) {
        stream.writtenAt = performance.now()
        stream.sink.write(positionText(stream))
      }
    }
  }

  /** Looks the user up again; if that fails, returns the user as before. */
  async #refreshUser(stream: Stream): Promise<User | undefined> {
    try {
      return await stream.refreshUser()
    } catch (error) {
      this.#onError(error)
      return stream.user
    }
  }

  /** Sends changes until none are left, with pauses for other requests. */
  async #work(): Promise<void> {
    while (this.#isWoken || this.#catchUp.hasReadyStream(this.#lastSent)) {
      await sleep(Math.max(0, this.#notBefore - performance.now()))
      // Without streams nothing is rendered or cached: the cache could outlive values that are forgotten meanwhile.
      if (this.#streams.size === 0) break
      const start = performance.now()
      this.#isWoken = false
      try {
        await this.#sendLive()
        await this.#catchUp.catchUp(this.#feed, this.#lastSent)
      } catch (error) {
        // The journal cannot be read now; tries again after a pause.
        this.#onError(error)
        this.#notBefore = performance.now() + MAX_PAUSE_MS
        continue
      }
      const took = performance.now() - start
      this.#notBefore = performance.now() + Math.min(MAX_PAUSE_MS, Math.max(SHORTEST_PAUSE_MS, took))
    }
    this.#isRunning = false
  }

  /** Sends new changes to the live streams. */
  async #sendLive(): Promise<void> {
    const { feed, until } = this.#currentFeed()
    const { changes, next, isFull, rightsChanges } = await feed.readAllChanges(this.#lastSent, PAGE_SIZE, until)
    if (next === this.#lastSent) return
    // Their rights change in the middle of these changes: they reconnect, and read the records anew.
    if (rightsChanges.length > 0)
      for (const stream of this.#streams)
        if (hasOtherRights(rightsChanges, stream.user, stream.position)) this.#end(stream)
    const rendered = await feed.render(changes)
    const isTruncated = rendered.length < changes.length
    const last = isTruncated ? (rendered.at(-1) as RenderedChange).change : next
    const broadcast = createBroadcast(feed, rendered)
    const yielder = new Yielder()
    for (const stream of this.#streams) {
      if (!stream.isLive) continue
      const written = hasRoom(stream) ? await this.#send(stream, broadcast) : undefined
      if (written === undefined) this.#catchUp.add(stream)
      else {
        stream.position = last
        if (written > 0) stream.writtenAt = performance.now()
      }
      if (yielder.isDue) await yielder.yield()
    }
    this.#lastSent = last
    if (isTruncated || isFull || this.#former) this.#isWoken = true
  }

  /** Writes the changes to one stream. On an error returns undefined: only this stream has to try again. */
  async #send(stream: Stream, broadcast: ReturnType<typeof createBroadcast>): Promise<number | undefined> {
    try {
      return await broadcast(stream)
    } catch (error) {
      this.#onError(error)
      return undefined
    }
  }

  /** The feed for the next changes: the previous one for changes committed before the models were replaced. */
  #currentFeed(): { feed: RenderedFeed; until: number } {
    if (this.#former && this.#lastSent < this.#former.until) return this.#former
    this.#former = undefined
    return { feed: this.#feed, until: Number.MAX_SAFE_INTEGER }
  }
}
