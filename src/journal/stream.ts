import type { Listener } from './render-changes.ts'

/** A listener and its position in the journal. */
export interface Stream extends Listener {
  /** the last change that was sent to it or is not visible to it */
  position: number
  /** whether it receives changes as they come; otherwise it is catching up */
  isLive: boolean
  /** whether a `drain` listener is registered */
  isAwaited: boolean
  writtenAt: number
  /** a change could not be rendered; earliest time of the next attempt */
  notBefore: number
}

/** Changes per page. */
export const PAGE_SIZE = 500
/** The longest pause before the next attempt. */
export const MAX_PAUSE_MS = 250
/** Number of streams, in total and per user. */
export const MAX_STREAMS = 5000
export const MAX_STREAMS_PER_USER = 1000
/** A stream with more unread bytes is sent nothing for now: the rest is in the journal. */
const MAX_UNREAD = 262_144
/** The client's delay before it reconnects. */
const RETRY_MS = 2000

export const hasRoom = ({ sink }: Stream) => sink.writableLength <= MAX_UNREAD

export const isReady = (stream: Stream) => hasRoom(stream) && stream.notBefore <= performance.now()

/** Sends the position without an event, so that a reconnecting client continues there. */
export const positionText = ({ position }: Stream) => `id: ${position}\n\n`

/** The first text of a stream. The id alone triggers no event, but the client sends it as `Last-Event-ID`. */
export const openingText = (stream: Stream) => `retry: ${RETRY_MS}\n${positionText(stream)}`
