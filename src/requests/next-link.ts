import { Memo } from '../lib/memo.ts'

/** Longer headers are refused by many clients and proxies. `next` in the answer says the same. */
const MAX_LINK = 4000
/** Addresses that are kept, and the longest one. */
const MAX_ADDRESSES = 500
const MAX_ADDRESS = 300

const addresses = new Memo<string>(MAX_ADDRESSES, MAX_ADDRESS)

/** The header `Link` of a page: the address of the next one. Undefined if there is none, or if it would be too long. */
export function nextLink(url: string, next: string | undefined): string | undefined {
  if (next === undefined) return undefined
  const link = `<${addresses.getOrCompute(url, withoutPosition)}after=${encodeURIComponent(next)}>; rel="next"`
  return link.length <= MAX_LINK ? link : undefined
}

/** The address without its position, up to where another one can be added. */
function withoutPosition(url: string): string {
  const [path = '', query = ''] = url.split(/\?(.*)/s)
  const isPosition = (part: string) => /^(?:after|offset)$/.test(decodeURIComponent(part.split('=')[0] as string))
  const others = query.split('&').filter((part) => part !== '' && !isPosition(part))
  // Clients may send brackets as they are, but an address must not have them.
  const clean = others.map((part) => part.replace(/[[\]<>"|\\^`{}#]/g, encodeURIComponent))
  return `${path}?${clean.map((part) => `${part}&`).join('')}`
}
