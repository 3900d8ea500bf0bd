import { setTimeout } from 'node:timers/promises'
import type { Models } from '../model/model.ts'
import type { Storage } from '../storage/storage.ts'
import { type Feed, feedOf } from './feed.ts'
import { eventsOf, type Listener, mayListen, type Told, tellerOf } from './listeners.ts'
import { canTake, greeting, mark, type Stream } from './stream.ts'

/** Changes that are read at a time. */
const AT_A_TIME = 100
const TIMES = {
  /** how often it is looked whether another process has changed something */
  look: 250,
  /** and whether everybody may still listen, a part of them at a time */
  ask: 1000,
  /** so often something is sent, so that proxies do not take a stream for dead */
  awake: 15_000,
}
const PARTS = 10
/** Streams that are written to in one go: then others have their turn. */
const IN_ONE_GO = 200
/** How long those are caught up with that are behind, before others have their turn. */
const CATCH_UP_MS = 8
/** Changes that come close together are sent together; the more there is to send, the longer the pause. */
const SHORTEST_PAUSE_MS = 5
const LONGEST_PAUSE_MS = 250

/**
 * All that listen to the feed of changes. Each stream has only a position: what it has not read is in the journal, so that
 * a slow reader costs no memory. Those that are up to date are told together, and what they are told is made once.
 */
export class Streams {
  readonly #storage: Storage
  readonly #onError: (error: unknown) => void
  readonly #streams = new Set<Stream>()
  /** those that have to catch up, one page at a time in turn */
  #behind: Stream[] = []
  #feed: Feed
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
    this.#feed = feedOf(storage, models)
  }

  get size(): number {
    return this.#streams.size
  }

  countOf(username: string): number {
    return [...this.#streams].filter(({ person }) => person.username === username).length
  }

  /** Other models count from now on. */
  serve(models: Models): void {
    this.#feed = feedOf(this.#storage, models)
    for (const stream of this.#streams) {
      if (!mayListen(this.#feed, stream)) this.#end(stream)
      else stream.sink.write('event: models\ndata: {}\n\n')
    }
    this.wake()
  }

  /** Goes on after a change, or from now. */
  open(listener: Listener, since?: number): void {
    if (this.#streams.size === 0) this.#begin()
    const position = since ?? this.#told
    const isLive = position === this.#told
    const stream: Stream = { ...listener, position, isLive, isAwaited: false, writtenAt: Date.now() }
    this.#streams.add(stream)
    if (!isLive) this.#behind.push(stream)
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

  #begin() {
    this.#told = this.#feed.bounds().newest
    this.#timers = [
      setInterval(() => this.wake(), this.#times.look).unref(),
      setInterval(() => this.#mind(), this.#times.ask / PARTS).unref(),
    ]
  }

  #forget(stream: Stream) {
    if (!this.#streams.delete(stream)) return
    this.#behind = this.#behind.filter((one) => one !== stream)
    if (this.#streams.size > 0) return
    for (const timer of this.#timers) clearInterval(timer)
  }

  #end(stream: Stream) {
    stream.sink.end()
    this.#forget(stream)
  }

  /** Looks after a part of the streams: who may listen, and who has not been sent anything for long. */
  #mind() {
    if (this.#unminded.length === 0) this.#unminded = [...this.#streams]
    for (const stream of this.#unminded.splice(0, Math.ceil(this.#streams.size / PARTS))) {
      const now = stream.ask()
      // Whoever has logged out, or got other roles, is let go; they come back as who they are now.
      if (now?.roles.toSorted().join() !== stream.person.roles.toSorted().join()) this.#end(stream)
      else if (stream.writtenAt <= Date.now() - this.#times.awake && canTake(stream)) {
        stream.writtenAt = Date.now()
        stream.sink.write(mark(stream))
      }
    }
  }

  /** Tells until there is nothing left to tell, with pauses in which others have their turn. */
  async #work(): Promise<void> {
    while (this.#isWoken || this.#behind.some(canTake)) {
      await setTimeout(Math.max(0, this.#notBefore - performance.now()))
      const start = performance.now()
      this.#isWoken = false
      try {
        await this.#tellLive()
        await this.#catchUp()
      } catch (error) {
        // The tables may be changing: whoever listens is told later.
        this.#onError(error)
        this.#notBefore = performance.now() + LONGEST_PAUSE_MS
        continue
      }
      const took = performance.now() - start
      this.#notBefore = performance.now() + Math.min(LONGEST_PAUSE_MS, Math.max(SHORTEST_PAUSE_MS, took))
    }
    this.#isAtIt = false
  }

  /** What is new goes to everybody who has all that came before. */
  async #tellLive(): Promise<void> {
    const feed = this.#feed
    const { changes, next, isFull } = feed.all(this.#told, AT_A_TIME)
    if (next === this.#told) return
    const told = await eventsOf(feed, changes)
    const isCut = told.length < changes.length
    const last = isCut ? (told.at(-1) as Told).change : next
    const tell = tellerOf(feed, told)
    let written = 0
    for (const stream of this.#streams) {
      if (!stream.isLive) continue
      if (!canTake(stream)) {
        stream.isLive = false
        this.#behind.push(stream)
      } else {
        stream.position = last
        if (tell(stream)) stream.writtenAt = Date.now()
        if (++written % IN_ONE_GO === 0) await new Promise(setImmediate)
      }
    }
    this.#told = last
    if (isCut || isFull) this.#isWoken = true
  }

  /** A page for each of those that are behind, in turn, for a while. */
  async #catchUp(): Promise<void> {
    const end = performance.now() + CATCH_UP_MS
    for (const one of this.#behind) if (!canTake(one)) this.#awaitDrain(one)
    for (let stream = this.#behind.find(canTake); stream; stream = this.#behind.find(canTake)) {
      await this.#tellMore(stream)
      if (performance.now() > end) return
    }
  }

  async #tellMore(stream: Stream): Promise<void> {
    const feed = this.#feed
    const { person, wanted, position, sink } = stream
    // What it has not read may have been dropped meanwhile: when it comes back it is told so.
    if (!feed.isKnown(position)) return this.#end(stream)
    const { changes, next } = feed.page(person, wanted, position, AT_A_TIME, this.#told)
    const told = await eventsOf(feed, changes)
    if (!this.#streams.has(stream)) return
    stream.position = told.length < changes.length ? (told.at(-1) as Told).change : next
    if (told.length > 0) sink.write(told.map(({ text }) => text).join(''))
    stream.writtenAt = Date.now()
    stream.isLive = stream.position === this.#told
    // Then it is somebody else's turn.
    this.#behind = this.#behind.filter((one) => one !== stream)
    if (!stream.isLive) this.#behind.push(stream)
  }

  #awaitDrain(stream: Stream) {
    if (stream.isAwaited) return
    stream.isAwaited = true
    stream.sink.once('drain', () => {
      stream.isAwaited = false
      this.wake()
    })
  }
}
