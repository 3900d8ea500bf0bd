/** A text for people: in one language, or in several by their codes. */
export type Words = string | Record<string, string>

/** Texts in languages other than the first one, by language and keyword. */
export type Translations = Record<string, Translation>

export interface Translation {
  title?: string
  plural?: string
  description?: string
  /** of the values of an `enum` */
  titles?: Record<string, string>
}

/** The text without a language: English, or else the one that stands first. */
export const plainText = (words: Words): string =>
  typeof words === 'string' ? words : (words.en ?? (Object.values(words)[0] as string))

/** Like `plainText`, for a keyword that may be missing. */
export const plainOrNone = (words: Words | undefined): string | undefined =>
  words === undefined ? undefined : plainText(words)

export interface WordsFile {
  title?: Words | undefined
  plural?: Words | undefined
  description?: Words | undefined
  titles?: Record<string, Words> | undefined
}

/** The texts in all languages that a file names; nothing, if it names none. */
export function translationsIn({ titles = {}, ...file }: WordsFile): { translations?: Translations } {
  const found: Translations = {}
  const into = (language: string) => {
    found[language] ??= {}
    return found[language]
  }
  for (const [keyword, words] of Object.entries(file) as [keyof Omit<Translation, 'titles'>, Words | undefined][])
    if (typeof words === 'object') for (const [language, text] of Object.entries(words)) into(language)[keyword] = text
  for (const [value, words] of Object.entries(titles))
    if (typeof words === 'object')
      for (const [language, text] of Object.entries(words)) {
        const one = into(language)
        one.titles = { ...one.titles, [value]: text }
      }
  return Object.keys(found).length > 0 ? { translations: found } : {}
}
