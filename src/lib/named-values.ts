/** Values with names, as people type them: `regions=north,south`, `limit=5`. */

export type NamedValue = string | number | (string | number)[]

/**
 * Parses one of them; undefined if it has no name. A number is one, except in quotes; values with commas are a list. No
 * value means that there is none any more.
 */
export function parseNamedValue(text: string): [name: string, value: NamedValue | undefined] | undefined {
  const [, name, value] = /^([^=]+)=(.*)$/s.exec(text.trim()) ?? []
  if (name === undefined || value === undefined) return undefined
  if (value === '') return [name, undefined]
  const items = value.split(',').map((item) => item.trim())
  if (items.length === 1) return [name, parseItem(items[0] as string)]
  return [name, items.filter((item) => item !== '').map(parseItem)]
}

const NUMBER = /^-?(?:0|[1-9]\d{0,14})(?:\.\d{1,10})?$/

function parseItem(text: string): string | number {
  const quoted = /^"(.*)"$/.exec(text)?.[1]
  if (quoted !== undefined) return quoted
  return NUMBER.test(text) ? Number(text) : text
}

/** Writes a value so that `parseNamedValue` reads the same one, if no text in it has a comma. */
export function formatNamedValue(name: string, value: NamedValue): string {
  const item = (one: string | number) => (typeof one === 'string' && NUMBER.test(one) ? `"${one}"` : String(one))
  if (!Array.isArray(value)) return `${name}=${item(value)}`
  return `${name}=${value.map(item).join(',')}${value.length === 1 ? ',' : ''}`
}
