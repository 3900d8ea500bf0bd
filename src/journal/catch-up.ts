import type { ChangePage, Feed } from './feed.ts'
import type { createRenderer } from './listeners.ts'
import { AT_A_TIME, canBeTold, canTake, MAX_PAUSE_MS, type Stream } from './stream.ts'

/** A feed, and how what is in it is told. */
export type Served = Feed & { render: ReturnType<typeof createRenderer> }

/** What those that are behind need of all the others. */
interface Streams {
  wake(): void
  isOpen(stream: Stream): boolean
  end(stream: Stream): void
}

/** How long they are told in one go, before others have their turn. */
const CATCH_UP_MS = 8

/** Streams that have to catch up, a page at a time in turn. What they have not read is in the journal. */
export class CatchUp {
  readonly #streams: Streams
  #all: Stream[] = []
  /** pages that more than one of them asks for, in one round */
  readonly #pages = new Map<string, Promise<ChangePage>>()

  constructor(streams: Streams) {
    this.#streams = streams
  }

  add(stream: Stream): void {
    stream.isLive = false
    this.#all.push(stream)
    this.#awaitRoom(stream)
  }

  remove(stream: Stream): void {
    this.#all = this.#all.filter((one) => one !== stream)
  }

  /** Whether there is somebody who can be told something now. */
  get canBeTold(): boolean {
    return this.#all.some(canBeTold)
  }

  /** Brings them nearer to what everybody else has been told. */
  async catchUp(feed: Served, told: number): Promise<void> {
    const end = performance.now() + CATCH_UP_MS
    this.#pages.clear()
    for (let stream = this.#all.find(canBeTold); stream; stream = this.#all.find(canBeTold)) {
      // Whatever comes of it, then it is somebody else's turn.
      this.remove(stream)
      this.#all.push(stream)
      await this.#tell(stream, feed, told)
      if (performance.now() > end) return
    }
  }

  async #tell(stream: Stream, feed: Served, upTo: number): Promise<void> {
    // What it has not read may have been dropped meanwhile: when it comes back it is told so.
    if (!(await feed.isKnown(stream.position))) return this.#streams.end(stream)
    const { changes, next } = await this.#pageFor(stream, feed, upTo)
    const told = await feed.render(changes)
    if (!this.#streams.isOpen(stream)) return
    const stuck = told.findIndex(({ text }) => text === undefined)
    if (stuck >= 0) stream.notBefore = performance.now() + MAX_PAUSE_MS
    const whole = stuck < 0 ? told : told.slice(0, stuck)
    stream.position = whole.length < changes.length ? (whole.at(-1)?.change ?? stream.position) : next
    if (whole.length > 0) stream.sink.write(whole.map(({ text }) => text).join(''))
    stream.writtenAt = performance.now()
    stream.isLive = stream.position === upTo
    if (stream.isLive) this.remove(stream)
    else this.#awaitRoom(stream)
  }

  /** Many come back at once after a restart, and ask for the same. */
  #pageFor({ user, wanted, position }: Stream, feed: Served, upTo: number): Promise<ChangePage> {
    const key = JSON.stringify([position, user.username, wanted && [...wanted]])
    const page = this.#pages.get(key) ?? feed.page(user, wanted, position, AT_A_TIME, upTo)
    this.#pages.set(key, page)
    return page
  }

  /** Whoever has too much to read is told more when they have read it. */
  #awaitRoom(stream: Stream) {
    if (canTake(stream) || stream.isAwaited) return
    stream.isAwaited = true
    stream.sink.once('drain', () => {
      stream.isAwaited = false
      this.#streams.wake()
    })
  }
}
