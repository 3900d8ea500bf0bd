import type { Row } from '../logic/model.ts'
import { isReachable, pause, request } from './api.ts'
import { type Person, person, updateUser } from './session.ts'

/** A change of a record, as the event stream reports it. */
export interface Change {
  change: number
  model: string
  id: number
  version: number
  operation: string
  by: string | null
  at: string
  fields: string[]
  /** record after the change; null if it was deleted, or is out of reach now */
  record: Row | null
}

const OPERATIONS = ['create', 'update', 'delete', 'restore', 'forget', 'leave']
const RETRY_MS = 2000
const GRACE_MS = 4000

const listeners = new Set<(change: Change) => void>()
const missedListeners = new Set<() => void>()
const modelsListeners = new Set<() => void>()
let stream: EventSource | undefined
let last: string | undefined

/** Calls `listener` for every change that the user may see. Returns a function that unsubscribes. */
export const onChange = (listener: (change: Change) => void) => addListener(listeners, listener)
/** Calls `listener` when changes may have been missed, so any data may be outdated. */
export const onMissed = (listener: () => void) => addListener(missedListeners, listener)
export const onModels = (listener: () => void) => addListener(modelsListeners, listener)

function addListener<Listener>(to: Set<Listener>, listener: Listener): () => void {
  to.add(listener)
  return () => to.delete(listener)
}

/**
 * Follows the changes while the page is visible. A browser allows six connections to a host, so hidden windows close
 * their stream to leave them to visible ones. When shown again, they resume after the last event.
 */
export function followChanges(): void {
  document.addEventListener('visibilitychange', openOrCloseStream)
  openOrCloseStream()
}

function openOrCloseStream(): void {
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
      const change = { ...JSON.parse(event.data), ...(operation === 'leave' && { record: null }) }
      for (const listener of listeners) listener(change)
    })
  opened.addEventListener('models', (event) => {
    remember(event)
    for (const listener of modelsListeners) listener()
  })
  let isFresh = last === undefined
  opened.onopen = () => {
    isReachable.value = true
    // Data read before the first stream opened may have changed since; a later stream resumes after `last`.
    if (isFresh) for (const listener of missedListeners) listener()
    isFresh = false
  }
  opened.onerror = () => {
    // A stream may end and reconnect within a moment, so the warning waits.
    setTimeout(() => {
      if (stream === opened && opened.readyState !== EventSource.OPEN) isReachable.value = false
    }, GRACE_MS)
    // EventSource reconnects by itself, unless the service refused: the session has ended, or `since` is too old.
    if (opened.readyState === EventSource.CLOSED && stream === opened) reopen().catch(console.error)
  }
}

async function reopen(): Promise<void> {
  stream = undefined
  last = undefined
  for (;;) {
    await pause(RETRY_MS)
    const [by] = await request<Person>('GET', '/ws/me').then(
      ({ data }) => data,
      () => [],
    )
    // The user or the roles may be different by now.
    if (by && updateUser({ username: by.username, roles: by.roles })) break
  }
  openOrCloseStream()
  for (const listener of modelsListeners) listener()
}
