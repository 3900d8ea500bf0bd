import type { IncomingMessage } from 'node:http'

const READING = /^(?:GET|HEAD|OPTIONS) |^POST \/ws\/rest\/[^/?]+\/search(?:\?|$)/

/** Whether a request may write records of some models. One that hides its model's name is refused when it is written. */
export function writesTo({ method, url = '' }: IncomingMessage, models: string[]): boolean {
  if (READING.test(`${method} ${url}`)) return false
  // A batch may be about any of them.
  return url.startsWith('/ws/batch') || models.some((name) => url.startsWith(`/ws/rest/${name}`))
}
