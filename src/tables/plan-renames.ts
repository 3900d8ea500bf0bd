import type { Field, Model } from '../model/model.ts'
import type { TableColumn, TableState } from '../storage/storage.ts'
import { isOrderColumn } from './order-columns.ts'

export interface Rename {
  from: string
  to: string
}

/** A field that takes over the values of its earlier column `from`, although a column of its own name exists. */
export interface Takeover {
  field: Field
  from: string
}

export const findColumn = (field: Field, columns: TableColumn[]) =>
  columns.find(({ name }) => name.toLowerCase() === field.name.toLowerCase())

/** Columns that no field has. Generated columns and order keys are left out, because they hold no data of their own. */
export function hiddenColumns(model: Model, columns: TableColumn[]): TableColumn[] {
  const fieldNames = new Set(
    ['id', 'version', ...model.fields.map(({ name }) => name)].map((name) => name.toLowerCase()),
  )
  return columns.filter(
    ({ name, generated }) => !generated && !isOrderColumn(name) && !fieldNames.has(name.toLowerCase()),
  )
}

/**
 * Renames the earlier columns of fields with `renamedFrom`. If a column of the new name exists already, the field takes
 * over the earlier column's values instead; `verifyPlan` requires the existing column to be empty. Such a column may be
 * hidden, or was added when the file was first saved without `renamedFrom`.
 */
export function planRenames(model: Model, table: TableState): { renames: Rename[]; takeovers: Takeover[] } {
  const renames: Rename[] = []
  const takeovers: Takeover[] = []
  for (const field of model.fields) {
    const earlier = table.columns.find(({ name, generated }) => name === field.renamedFrom && !generated)
    if (!earlier) continue
    const there = findColumn(field, table.columns)
    if (!there || there === earlier) renames.push({ from: earlier.name, to: field.name })
    else takeovers.push({ field, from: earlier.name })
  }
  return { renames, takeovers }
}
