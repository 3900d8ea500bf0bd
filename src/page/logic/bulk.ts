import { type Draft, type FormValues, readAll } from './draft.ts'
import { type Field, hasLinks } from './model.ts'

/** How a field with several references is changed in many records. */
export const WAYS = ['add', 'remove', 'replace'] as const
export type Way = (typeof WAYS)[number]

/** By field; by default something is added. */
export type Ways = Record<string, Way>

export const wayOf = (ways: Ways, field: Field): Way => (hasLinks(field) ? (ways[field.name] ?? 'add') : 'replace')

/** The values that are sent for each record. */
export function bulkValues(draft: Draft, fields: Field[], ways: Ways): FormValues {
  const { values, faults } = readAll(draft, fields)
  const sent = fields
    .filter(({ name }) => Object.hasOwn(values, name))
    .map((field) => {
      const way = wayOf(ways, field)
      const value = values[field.name]
      return [field.name, way === 'replace' || value === null ? value : { [way]: value }]
    })
  return { values: Object.fromEntries(sent), faults }
}
