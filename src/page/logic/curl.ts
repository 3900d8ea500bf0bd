/** The curl command that sends the same request as the page. */
export function curlFor(
  origin: string,
  path: string,
  { method = 'GET', body }: { method?: string; body?: unknown } = {},
) {
  const parts = ['curl -s -g', '-H "Authorization: Bearer $TOKEN"']
  if (method !== 'GET') parts.push(`-X ${method}`)
  if (body !== undefined) parts.push(`-H 'Content-Type: application/json'`, `-d ${quoted(JSON.stringify(body))}`)
  return [...parts, quoted(origin + readable(path))].join(' ')
}

/** Leaves brackets, commas and asterisks unescaped, because that is easier to read; curl's `-g` allows it. */
const readable = (path: string) =>
  path.replace(/%5B/gi, '[').replace(/%5D/gi, ']').replace(/%2C/gi, ',').replace(/%2A/gi, '*')

const quoted = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`
