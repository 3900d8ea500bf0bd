import type { Row } from '../logic/model.ts'
import { ask, isReachable, pause } from './api.ts'
import { isStill, type Person, person } from './session.ts'

/** A change of a record, as the service tells it. */
export interface Change {
  change: number
  model: string
  id: number
  version: number
  operation: string
  by: string | null
  at: string
  fields: string[]
  /** as it is after the change; null if it is gone */
  record: Row | null
}

const OPERATIONS = ['create', 'update', 'delete', 'restore', 'forget']
const RETRY_MS = 2000
const GRACE_MS = 4000

const listeners = new Set<(change: Change) => void>()
const missed = new Set<() => void>()
const modelsListeners = new Set<() => void>()
let stream: EventSource | undefined
let last: string | undefined

/** Tells of every change that one may see, as it happens. Returns how to stop. */
export const onChange = (listener: (change: Change) => void) => added(listeners, listener)
/** Tells that anything may have changed, because changes could not be followed. */
export const onMissed = (listener: () => void) => added(missed, listener)
export const onModels = (listener: () => void) => added(modelsListeners, listener)

function added<Listener>(to: Set<Listener>, listener: Listener): () => void {
  to.add(listener)
  return () => to.delete(listener)
}

/**
 * Follows the changes while the page can be seen. A browser keeps six connections to a service: windows that nobody looks
 * at must not take them from the others, and they go on where they were.
 */
export function followChanges(): void {
  document.addEventListener('visibilitychange', attend)
  attend()
}

function attend(): void {
  if (document.visibilityState === 'hidden' || !person.value) {
    stream?.close()
    stream = undefined
  } else if (!stream) open()
}

function open(): void {
  const opened = new EventSource(last === undefined ? '/ws/changes/stream' : `/ws/changes/stream?since=${last}`)
  stream = opened
  const remember = ({ lastEventId }: MessageEvent) => {
    if (lastEventId !== '') last = lastEventId
  }
  for (const operation of OPERATIONS)
    opened.addEventListener(operation, (event) => {
      remember(event)
      const change = JSON.parse(event.data)
      for (const listener of listeners) listener(change)
    })
  opened.addEventListener('models', (event) => {
    remember(event)
    for (const listener of modelsListeners) listener()
  })
  let isFresh = last === undefined
  opened.onopen = () => {
    isReachable.value = true
    // What has been read before the stream began may have changed in between; later it goes on where it was.
    if (isFresh) for (const listener of missed) listener()
    isFresh = false
  }
  opened.onerror = () => {
    // A stream may end and be taken up again within a moment.
    setTimeout(() => {
      if (stream === opened && opened.readyState !== EventSource.OPEN) isReachable.value = false
    }, GRACE_MS)
    // The browser tries again by itself, unless the service has said no: the session is over, or the number is not kept.
    if (opened.readyState === EventSource.CLOSED && stream === opened) reopen().catch(console.error)
  }
}

async function reopen(): Promise<void> {
  stream = undefined
  last = undefined
  for (;;) {
    await pause(RETRY_MS)
    const [by] = await ask<Person>('GET', '/ws/me').then(
      ({ data }) => data,
      () => [],
    )
    // Roles may be others by now, and so may be who it is.
    if (by && isStill({ username: by.username, roles: by.roles })) break
  }
  attend()
  for (const listener of modelsListeners) listener()
}
