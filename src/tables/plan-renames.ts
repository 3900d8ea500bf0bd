import type { Field, Model } from '../model/model.ts'
import type { TableColumn, TableState } from '../storage/storage.ts'

export interface Rename {
  from: string
  to: string
}

/** A field that takes over the values of its earlier column, though it has a column of its own already. */
export interface Takeover {
  field: Field
  from: string
}

export const findColumn = (field: Field, columns: TableColumn[]) =>
  columns.find(({ name }) => name.toLowerCase() === field.name.toLowerCase())

/** Generated columns hold no data: hidden ones are not worth a word. */
export function hiddenColumns(model: Model, columns: TableColumn[]): TableColumn[] {
  const known = new Set(['id', 'version', ...model.fields.map(({ name }) => name)].map((name) => name.toLowerCase()))
  return columns.filter(({ name, generated }) => !generated && !known.has(name.toLowerCase()))
}

/**
 * A field's earlier column takes its new name. Where a column of that name is there already (a file that was saved without
 * `renamedFrom` first makes one, or a hidden one is left from long ago), it is taken over if that one is empty.
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
