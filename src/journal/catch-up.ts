import { type ChangePage, type Feed, hasOtherRights } from './feed.ts'
import type { createRenderer } from './render-changes.ts'
import { hasRoom, isReady, MAX_PAUSE_MS, PAGE_SIZE, type Stream } from './stream.ts'

/** A feed, and the function that renders its changes as events. */
export type RenderedFeed = Feed & { render: ReturnType<typeof createRenderer> }

/** The functions of `ChangeStreams` that `CatchUp` uses. */
interface StreamControl {
  wake(): void
  isOpen(stream: Stream): boolean
  end(stream: Stream): void
}

/** Time limit of one round of catching up, before the live streams are served again. */
const CATCH_UP_MS = 8

/** Streams that are behind. They are sent pages of the journal, one page each in turn. */
export class CatchUp {
  readonly #streams: StreamControl
  #all: Stream[] = []
  /** pages of this round, shared by streams that need the same one */
  readonly #pages = new Map<string, Promise<ChangePage>>()

  constructor(streams: StreamControl) {
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

  /** Whether a stream is ready for its next page, when the live streams have reached the change `upTo`. */
  hasReadyStream(upTo: number): boolean {
    return this.#next(upTo) !== undefined
  }

  /**
   * The next stream that is ready. One whose position is after `upTo` waits until the live streams have been sent that
   * change.
   */
  #next(upTo: number): Stream | undefined {
    return this.#all.find((stream) => stream.position <= upTo && isReady(stream))
  }

  /** Sends pages, up to the change `upTo` that the live streams have reached, for CATCH_UP_MS at most. */
  async catchUp(feed: RenderedFeed, upTo: number): Promise<void> {
    const end = performance.now() + CATCH_UP_MS
    this.#pages.clear()
    for (let stream = this.#next(upTo); stream; stream = this.#next(upTo)) {
      // Moves the stream to the end first, so that it gives up its turn even if an error follows.
      this.remove(stream)
      this.#all.push(stream)
      await this.#sendPage(stream, feed, upTo)
      if (performance.now() > end) return
    }
  }

  async #sendPage(stream: Stream, feed: RenderedFeed, upTo: number): Promise<void> {
    // Changes after its position may have been deleted. The client reconnects and then gets CHANGES_GONE.
    if (!(await feed.hasChangesSince(stream.position))) return this.#streams.end(stream)
    const { changes, next, rightsChanges } = await this.#pageFor(stream, feed, upTo)
    // The client reconnects, and learns that it has to read the records anew.
    if (hasOtherRights(rightsChanges, stream.user, stream.position)) return this.#streams.end(stream)
    const rendered = await feed.render(changes)
    if (!this.#streams.isOpen(stream)) return
    const stuck = rendered.findIndex(({ text }) => text === undefined)
    if (stuck >= 0) stream.notBefore = performance.now() + MAX_PAUSE_MS
    const sendable = stuck < 0 ? rendered : rendered.slice(0, stuck)
    stream.position = sendable.length < changes.length ? (sendable.at(-1)?.change ?? stream.position) : next
    if (sendable.length > 0) stream.sink.write(sendable.map((one) => feed.textFor(stream.user, one, one.text)).join(''))
    stream.writtenAt = performance.now()
    stream.isLive = stream.position === upTo
    if (stream.isLive) this.remove(stream)
    else this.#awaitRoom(stream)
  }

  /** Caches pages: after a restart many clients reconnect at once, and those with equal rights need the same ones. */
  #pageFor({ user, wanted, position }: Stream, feed: RenderedFeed, upTo: number): Promise<ChangePage> {
    const names = wanted ?? feed.models.keys()
    const key = JSON.stringify([position, wanted && [...wanted], feed.keyFor(user, names)])
    const page = this.#pages.get(key) ?? feed.readPage(user, wanted, position, PAGE_SIZE, upTo)
    this.#pages.set(key, page)
    return page
  }

  /** If the sink's buffer is too full, wakes the streams again once it has drained. */
  #awaitRoom(stream: Stream) {
    if (hasRoom(stream) || stream.isAwaited) return
    stream.isAwaited = true
    stream.sink.once('drain', () => {
      stream.isAwaited = false
      this.#streams.wake()
    })
  }
}
