import { formatNamedValue, type NamedValue, parseNamedValue } from '../../lib/named-values.ts'

export type Attributes = Record<string, NamedValue>

/** Attributes of a user as a text that can be changed: `regions=north,south; limit=5`. */
export const attributesText = (attributes: Attributes): string =>
  Object.entries(attributes)
    .map(([name, value]) => formatNamedValue(name, value))
    .join('; ')

/** The attributes in a text; undefined if one of them has no name. */
export function attributesIn(text: string): Attributes | undefined {
  const parsed = text
    .split(';')
    .filter((part) => part.trim() !== '')
    .map(parseNamedValue)
  if (parsed.includes(undefined)) return undefined
  const named = parsed as [string, NamedValue | undefined][]
  return Object.fromEntries(named.filter((one): one is [string, NamedValue] => one[1] !== undefined))
}
