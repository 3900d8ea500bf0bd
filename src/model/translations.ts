/** A text for people: in one language, or in several by their codes. */
export type LocalizedText = string | Record<string, string>

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
export const plainText = (text: LocalizedText): string =>
  typeof text === 'string' ? text : (text.en ?? (Object.values(text)[0] as string))

/** Like `plainText`, for a keyword that may be missing. */
export const plainTextIfAny = (text: LocalizedText | undefined): string | undefined =>
  text === undefined ? undefined : plainText(text)

export interface LocalizedTexts {
  title?: LocalizedText | undefined
  plural?: LocalizedText | undefined
  description?: LocalizedText | undefined
  titles?: Record<string, LocalizedText> | undefined
}

/** The texts in all languages that a file names; nothing, if it names none. */
export function translationsIn({ titles = {}, ...file }: LocalizedTexts): { translations?: Translations } {
  const found: Translations = {}
  const into = (language: string) => {
    found[language] ??= {}
    return found[language]
  }
  for (const [keyword, texts] of Object.entries(file) as [
    keyof Omit<Translation, 'titles'>,
    LocalizedText | undefined,
  ][])
    if (typeof texts === 'object') for (const [language, text] of Object.entries(texts)) into(language)[keyword] = text
  for (const [value, texts] of Object.entries(titles))
    if (typeof texts === 'object')
      for (const [language, text] of Object.entries(texts)) {
        const one = into(language)
        one.titles = { ...one.titles, [value]: text }
      }
  return Object.keys(found).length > 0 ? { translations: found } : {}
}
