/** Whether a client takes gzip, by its `Accept-Encoding`: named, or covered by `*`, and not with `q=0`. */
export function acceptsGzip(header: string | string[] | undefined): boolean {
  if (header === undefined) return false
  const entries = String(header)
    .toLowerCase()
    .split(',')
    .map((entry) => entry.split(';').map((part) => part.trim()))
  const [, ...parameters] = entries.find(([name]) => name === 'gzip') ??
    entries.find(([name]) => name === '*') ?? ['', 'q=0']
  return !parameters.some((parameter) => /^q=0(?:\.0{0,3})?$/.test(parameter))
}
