import { fieldTitle } from '../lib/field-title.ts'
import { type Field, type Model, SYSTEM_FIELDS } from '../model/model.ts'

/** The heading of a field's column in a spreadsheet: its title, or its name if the title is not clear. */
export function columnHeading(model: Model, { name }: Pick<Field, 'name'>, language = ''): string {
  const field = model.fields.find((one) => one.name === name)
  if (!field) return name
  const titleOf = (one: Field) => one.translations?.[language]?.title ?? one.title ?? fieldTitle(one.name)
  const title = titleOf(field)
  const isTaken = model.fields.some((other) => other !== field && (titleOf(other) === title || other.name === title))
  return isTaken || !isHeading(title, model) ? name : title
}

/** The id of a record among names: `#12`. */
export const RECORD_ID = /^#(\d{1,15})$/

/** Whether a title is an unambiguous heading: neither a system field nor the path of a referenced record's field. */
const isHeading = (title: string, { fields }: Model) =>
  title.trim() === title &&
  !SYSTEM_FIELDS.some(({ name }) => name === title) &&
  !fields.some(({ name }) => title.startsWith(`${name}.`))

/** The field that a heading stands for, in any language. */
export function fieldOfHeading(model: Model, heading: string): Field | undefined {
  const own = model.fields.find((field) => columnHeading(model, field) === heading)
  if (own) return own
  const found = model.fields.filter(({ title, translations = {} }) =>
    [title, ...Object.values(translations).map((one) => one.title)].includes(heading),
  )
  return found.length === 1 ? found[0] : undefined
}

/** Titles of a field's values that belong to one value only, so that an import knows which is meant. */
export function clearTitles({ titles = {}, translations = {} }: Field, language: string): Map<string, string> {
  const own = Object.entries({ ...titles, ...translations[language]?.titles })
  const isClear = ([value, title]: [string, string]) =>
    own.every(([other, name]) => other === value || (name !== title && other !== title))
  return new Map(own.filter(isClear))
}

/** The value that people call by a title, in any language; undefined if there is none, or more than one. */
export function valueOfTitle({ titles, translations = {} }: Field, text: string): string | undefined {
  const wanted = text.trim().toLowerCase()
  const tables = [titles, ...Object.values(translations).map((one) => one.titles)]
  const all = tables.flatMap((one) => Object.entries(one ?? {}))
  const found = new Set(all.filter(([, title]) => title.toLowerCase() === wanted).map(([value]) => value))
  return found.size === 1 ? [...found][0] : undefined
}
