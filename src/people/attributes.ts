import type { Attributes, AttributeValue } from '../model/access.ts'

/** The first fault of a user's attributes; undefined if there is none. */
export function attributesFault(attributes: Record<string, unknown>): string | undefined {
  const names = Object.keys(attributes)
  if (names.length > MAX_ATTRIBUTES) return `must be at most ${MAX_ATTRIBUTES} attributes`
  const odd = names.find((name) => !NAME.test(name))
  if (odd !== undefined) return `must have names of 1 to 64 letters, digits or "_" that begin with a letter: ${odd}`
  const wrong = names.find((name) => !isAttributeValue(attributes[name]))
  if (wrong === undefined) return undefined
  return `must be texts of 1 to ${MAX_TEXT} characters, numbers, or lists of up to ${MAX_VALUES} of these: ${wrong}`
}

const NAME = /^[A-Za-z][A-Za-z0-9_]{0,63}$/
const MAX_ATTRIBUTES = 50
const MAX_VALUES = 100
const MAX_TEXT = 500

function isAttributeValue(value: unknown): value is AttributeValue {
  if (Array.isArray(value)) return value.length <= MAX_VALUES && value.every(isSingle)
  return isSingle(value)
}

function isSingle(value: unknown): value is string | number {
  if (typeof value === 'number') return Number.isFinite(value)
  return (
    typeof value === 'string' && value !== '' && value.length <= MAX_TEXT && value.isWellFormed() && !/\0/.test(value)
  )
}

/** Some attributes changed; undefined removes one. */
export const changedAttributes = (before: Attributes, change: Map<string, AttributeValue | undefined>): Attributes =>
  Object.fromEntries(
    [...new Map<string, AttributeValue | undefined>([...Object.entries(before), ...change])].filter(
      (entry): entry is [string, AttributeValue] => entry[1] !== undefined,
    ),
  )
