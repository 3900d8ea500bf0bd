import type { Listener } from './listeners.ts'

/** Somebody who listens, and how far they are. */
export interface Stream extends Listener {
  /** the last change that it has been told of, or that is not for it */
  position: number
  /** it is told of changes as they come; else it has to catch up first */
  isLive: boolean
  /** it is known when it has been read */
  isAwaited: boolean
  writtenAt: number
  /** there was something that could not be told: not before this moment it is tried again */
  notBefore: number
}

/** Changes that are read at a time. */
export const AT_A_TIME = 500
/** After so long something is tried again at the latest. */
export const MAX_PAUSE_MS = 250
/** How many there may be, in all and of one person. */
export const MAX_STREAMS = 5000
export const MAX_PER_USER = 1000
/** Whoever has this much left to read is told no more for now: the rest is in the journal. */
const MAX_UNREAD = 262_144
/** When somebody is cut off, their client waits for this long before it comes back. */
const RETRY_MS = 2000

export const canTake = ({ sink }: Stream) => sink.writableLength <= MAX_UNREAD

export const canBeTold = (stream: Stream) => canTake(stream) && stream.notBefore <= performance.now()

/** Where a stream is, without an event: a client that comes back begins there. */
export const mark = ({ position }: Stream) => `id: ${position}\n\n`

/** What a client is told first. The number alone is no event, but what it comes back with. */
export const greeting = (stream: Stream) => `retry: ${RETRY_MS}\n${mark(stream)}`
