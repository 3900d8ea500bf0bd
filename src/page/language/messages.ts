/** Messages of the service, which are in English, for readers of another language. */

/** Translations by templates: `must be one of {values}`. */
export type Messages = Record<string, string>

interface Pattern {
  expression: RegExp
  names: string[]
  text: string
}

/** Makes patterns of templates. A value stands for any text. */
export function messagePatterns(messages: Messages): Pattern[] {
  return Object.entries(messages).map(([template, text]) => {
    const parts = template.split(/\{(\w+)\}/)
    const names = parts.filter((_, index) => index % 2 === 1)
    const source = parts.map((part, index) => (index % 2 === 1 ? '(.+)' : RegExp.escape(part))).join('')
    return { expression: new RegExp(`^${source}$`, 's'), names, text }
  })
}

/** A message in the reader's language, if it is known. A value that is quoted at its end stays as it is. */
export function translateMessage(message: string, patterns: Pattern[]): string {
  const [, sentence = message, quoted = ''] = /^(.*?)(: ".*")$/s.exec(message) ?? []
  const parts = sentence.split('; ').map((part) => translatePart(part, patterns))
  return parts.join('; ') + quoted
}

function translatePart(part: string, patterns: Pattern[]): string {
  for (const { expression, names, text } of patterns) {
    const found = expression.exec(part)
    if (!found) continue
    const values = new Map(names.map((name, at) => [name, found[at + 1] as string]))
    return text.replace(/\{(\w+)\}/g, (_, name) => values.get(name) as string)
  }
  return part
}
