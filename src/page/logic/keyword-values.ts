import { say } from '../language/say.ts'
import type { Keyword } from './keywords.ts'

/** Values of keywords as people type them. */

/** The text in the input for a value of a keyword. `keywordValue` is the reverse. */
export function keywordText({ input }: Pick<Keyword, 'input'>, value: unknown): string {
  if (value === undefined) return ''
  if (input === 'json') return JSON.stringify(value)
  if (input === 'lines' || input === 'fields') return (value as unknown[]).join(input === 'lines' ? '\n' : ', ')
  return String(value)
}

export function keywordValue({ input }: Pick<Keyword, 'input'>, text: string): { value: unknown } | { fault: string } {
  if (text.trim() === '') return { value: undefined }
  if (input === 'integer' || input === 'number') {
    const value = Number(text.replace(',', '.'))
    const isRight = Number.isFinite(value) && (input === 'number' || Number.isInteger(value))
    return isRight
      ? { value }
      : { fault: input === 'integer' ? say('must be a whole number') : say('must be a number') }
  }
  if (input === 'lines') return { value: filterParts(text, '\n') }
  if (input === 'fields') return { value: filterParts(text, ',') }
  if (input !== 'json') return { value: text }
  try {
    return { value: JSON.parse(text) }
  } catch {
    return { fault: say('is not valid JSON') }
  }
}

const filterParts = (text: string, between: string) => [
  ...new Set(
    text
      .split(between)
      .map((part) => part.trim())
      .filter(Boolean),
  ),
]

/** A text in one language, or in several. */
type Words = string | Record<string, string>

export const wordsIn = (words: unknown, language: string): string => {
  if (typeof words === 'string') return language === 'en' ? words : ''
  return ((words ?? {}) as Record<string, string>)[language] ?? ''
}

/** A copy with another text for a language. A text that is only in English is a plain string. */
export function withWords(words: unknown, language: string, text: string): Words | undefined {
  const known = typeof words === 'string' ? { en: words } : { ...((words ?? {}) as Record<string, string>) }
  const next = Object.fromEntries(Object.entries({ ...known, [language]: text }).filter(([, one]) => one !== ''))
  const names = Object.keys(next)
  if (names.length === 0) return undefined
  return names.length === 1 && names[0] === 'en' ? (next.en as string) : next
}
