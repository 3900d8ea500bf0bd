import { type Messages, messagePatterns, translateMessage } from './messages.ts'

/**
 * The texts of the page in the reader's language. English stands where it is shown: `say('Import a file')`. The other
 * languages have a table, with the English texts as its keys, which only their readers load.
 */

export const LANGUAGES = { en: 'English', de: 'Deutsch' } as const
export type Language = keyof typeof LANGUAGES

const KEY = 'dossier-language'

interface Browser {
  document: { defaultView: { navigator: { languages: readonly string[] } } }
  localStorage: { getItem(key: string): string | null; setItem(key: string, value: string): void }
  location: { reload(): void }
}

/** The language that the reader has chosen, or else the first one of the browser that the page knows. */
export function languageIn({ localStorage, document }: Partial<Browser>): Language {
  const wanted = [localStorage?.getItem(KEY) ?? '', ...(document?.defaultView.navigator.languages ?? [])]
  const known = wanted.map((tag) => tag.split('-')[0] as string).find((tag) => Object.hasOwn(LANGUAGES, tag))
  return (known ?? 'en') as Language
}

/** Tests of `logic` run without a browser, in English. */
const browser = globalThis as unknown as Browser

export const language = languageIn(browser)

/** The texts are part of what was rendered, so the page is loaded again. What was typed and not saved is kept. */
export function chooseLanguage(chosen: Language): void {
  browser.localStorage.setItem(KEY, chosen)
  browser.location.reload()
}

interface Table {
  texts: Record<string, string>
  /** of the service, by templates */
  messages: Messages
}

export const TABLES: Record<Language, () => Promise<Table>> = {
  en: async () => ({ texts: {}, messages: {} }),
  de: async () => (await import('./german.ts')).GERMAN_TABLE,
}

/** If the texts of the language cannot be loaded, English ones are better than nothing. */
const { texts, messages } = await TABLES[language]().catch(TABLES.en)
const patterns = messagePatterns(messages)

/** Translates a message of the service, if the reader's language has it. */
export const sayMessage = (message: string): string => translateMessage(message, patterns)

/** The text, with values in place of `{names}`. */
export const say = (text: string, values: Record<string, string | number> = {}): string =>
  fill(own(text), values).join('')

/** Like `say`, with parts that are elements, such as links: `sayParts('Log in to {place}', { place: html.b(…) })`. */
export function sayParts<Part>(text: string, parts: Record<string, Part>): (string | Part)[] {
  return fill(own(text), parts)
}

/** Between the two forms of a text in the tables. */
const FORMS = ' | '

/** The text for one, or for several: `sayForms(count, '{count} record', '{count} records', { count })`. */
export function sayForms(count: number, one: string, many: string, values: Record<string, string | number>): string {
  const [single, several] = own(`${one}${FORMS}${many}`).split(FORMS)
  return fill((count === 1 ? single : several) as string, values).join('')
}

const own = (text: string): string => texts[text] ?? text

/** A regular expression with a group splits into text, name, text, name, … */
const fill = <Part>(text: string, parts: Record<string, Part>): (string | Part)[] =>
  text.split(/\{(\w+)\}/).map((piece, index) => (index % 2 === 1 ? (parts[piece] as Part) : piece))

/** A title within a sentence: `New {model}`. English writes it small, German does not. */
export const inSentence = (title: string, of = language): string => (of === 'en' ? title.toLowerCase() : title)
