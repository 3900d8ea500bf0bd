import type { IncomingMessage } from 'node:http'

const READING = /^(?:GET|HEAD|OPTIONS|QUERY) |^POST \/ws\/rest\/[^/?]+\/(?:search|\d+\/fetch)(?:\?|$)/

/** Whether a request may write to one of the models. Percent-encoded names are missed; such a write fails as stale. */
export function writesTo({ method, url = '' }: IncomingMessage, models: string[]): boolean {
  if (READING.test(`${method} ${url}`)) return false
  // A batch may write to any model.
  return url.startsWith('/ws/batch') || models.some((name) => url.startsWith(`/ws/rest/${name}`))
}
