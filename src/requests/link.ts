/** Longer headers are refused by many clients and proxies. `next` in the answer says the same. */
const MAX_LINK = 4000

/** The header `Link` of a page: the address of the next one. Undefined if there is none, or if it would be too long. */
export function nextLink(url: string, next: string | undefined): string | undefined {
  if (next === undefined) return undefined
  const [path = '', query = ''] = url.split(/\?(.*)/s)
  const isPosition = (part: string) => /^(?:after|offset)$/.test(decodeURIComponent(part.split('=')[0] as string))
  const others = query.split('&').filter((part) => part !== '' && !isPosition(part))
  // Clients may send brackets as they are, but an address must not have them.
  const clean = others.map((part) => part.replace(/[[\]<>"|\\^`{}#]/g, encodeURIComponent))
  const link = `<${path}?${[...clean, `after=${encodeURIComponent(next)}`].join('&')}>; rel="next"`
  return link.length <= MAX_LINK ? link : undefined
}
