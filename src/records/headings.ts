import { fieldTitle } from '../lib/field-title.ts'
import type { Field, Model } from '../model/model.ts'

/** What a spreadsheet has above the column of a field: its title, or its name if that is not clear. */
export function columnHeading(model: Model, { name }: Pick<Field, 'name'>): string {
  const field = model.fields.find((one) => one.name === name)
  if (!field) return name
  const title = titleOf(field)
  const isClear = !model.fields.some((other) => other !== field && (titleOf(other) === title || other.name === title))
  return isClear ? title : name
}

const titleOf = ({ title, name }: Field) => title ?? fieldTitle(name)

/** The field that a heading stands for, in any language. */
export function fieldOfHeading(model: Model, heading: string): Field | undefined {
  const own = model.fields.find((field) => columnHeading(model, field) === heading)
  if (own) return own
  const found = model.fields.filter(({ translations = {} }) =>
    Object.values(translations).some(({ title }) => title === heading),
  )
  return found.length === 1 ? found[0] : undefined
}
