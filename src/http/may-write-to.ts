import type { IncomingMessage } from 'node:http'

/** As `mayChange` in `src/requests/may-change.ts` decides; here the route is not known yet. */
const READING = /^(?:GET|HEAD|OPTIONS|QUERY) |^POST \/ws\/rest\/[^/?]+\/(?:search|aggregate|\d+\/fetch)(?:\?|$)/

/** Whether a request may write to one of the models. Percent-encoded names are missed; such a write fails as stale. */
export function mayWriteTo({ method, url = '' }: IncomingMessage, models: string[]): boolean {
  if (READING.test(`${method} ${url}`)) return false
  // A batch, and what undoes one, may write to any model.
  if (url.startsWith('/ws/batch') || url.startsWith('/ws/changes/')) return true
  const name = /^\/ws\/rest\/([^/?]+)/.exec(url)?.[1]
  return name !== undefined && models.includes(name)
}
