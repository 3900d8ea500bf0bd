import type { Template } from './model.ts'

/** Parses `"{firstName} {lastName}"` into texts and fields; undefined if a brace is unmatched. */
export function parseTemplate(source: string): Template | undefined {
  const parts: Template = []
  let rest = source
  while (rest !== '') {
    const match = /^(?<text>[^{}]+)|^\{(?<field>\w+)\}/.exec(rest)
    if (!match) return undefined
    const { text, field } = match.groups as { text?: string; field?: string }
    parts.push(field === undefined ? { text: text as string } : { field })
    rest = rest.slice(match[0].length)
  }
  return parts
}

export const templateFields = (template: Template): string[] =>
  template.flatMap((part) => ('field' in part ? [part.field] : []))
