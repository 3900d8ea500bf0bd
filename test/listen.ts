import { setTimeout as sleep } from 'node:timers/promises'
import type { Client } from './client.ts'

export interface Event {
  id: string
  event?: string
  // biome-ignore lint/suspicious/noExplicitAny: a test looks into it without describing it first
  data?: any
}

/** Follows a stream; what came is in `events`, those that only mark a place in `marks`. */
export async function listen(client: Client, query = '', headers: Record<string, string> = {}) {
  const controller = new AbortController()
  const response = await fetch(`${client.url}/ws/changes/stream${query}`, {
    headers: { cookie: client.cookie as string, ...headers },
    signal: controller.signal,
  })
  const events: Event[] = []
  const marks: string[] = []
  let text = ''
  const read = async () => {
    for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) {
      text += Buffer.from(chunk).toString()
      for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
        const lines = text
          .slice(0, end)
          .split('\n')
          .map((line) => line.split(/: (.*)/s) as [string, string])
        text = text.slice(end + 2)
        const { id = '', event, data } = Object.fromEntries(lines)
        if (event) events.push({ id, event, data: JSON.parse(data as string) })
        else marks.push(id)
      }
    }
    return true
  }
  let hasEnded = false
  const ended = read()
    .catch(() => false)
    .finally(() => (hasEnded = true))
  return {
    status: response.status,
    headers: response.headers,
    events,
    marks,
    ended,
    stop: () => controller.abort(),
    /** Waits until there are so many events; none come after the end. */
    until: async (count: number) => {
      while (events.length < count && !hasEnded) await sleep(5)
      return events
    },
  }
}
