import { type ChildDraft, type ChildDrafts, changedValues, type Draft } from './draft.ts'
import type { Field, Model, Row } from './model.ts'
import { inputKind, type Raw, STRUCTURED_KINDS } from './raw.ts'

/** Records that are edited in the form of the record that they refer to. */

/** The records of an inverse field, as a form needs them. */
export interface ChildTable {
  fields: Field[]
  /** in their current version */
  rows: Row[]
}

/** A row of the table: a record, a new one, or both the record and the input for it. */
export interface ChildRow {
  key: string
  base?: Row | undefined
  draft: ChildDraft
}

const NEW = 'new'
const isNewKey = (key: string) => key.startsWith(NEW)
const UNTOUCHED: ChildDraft = { typed: {} }

/** Kinds of inputs that need more than a cell. */
const LARGE_KINDS = [...STRUCTURED_KINDS, 'long']

/** The fields that have a column: all that can be typed in a cell, without the reference that leads back. */
export const childFields = (model: Model, reference: string): Field[] =>
  model.fields.filter(
    (field) =>
      !field.readOnly && !field.writeOnly && field.name !== reference && !LARGE_KINDS.includes(inputKind(field)),
  )

/** All rows in their order; new ones come last. */
export function childRows({ rows }: Pick<ChildTable, 'rows'>, drafts: ChildDrafts): ChildRow[] {
  const known = rows.map((base): ChildRow => ({ key: String(base.id), base, draft: drafts[base.id] ?? UNTOUCHED }))
  const made = Object.entries(drafts).filter(([key]) => isNewKey(key))
  return [...known, ...made.map(([key, draft]): ChildRow => ({ key, draft }))]
}

/** The drafts with one more row. */
export function withNewRow(drafts: ChildDrafts): ChildDrafts {
  const numbers = Object.keys(drafts)
    .filter(isNewKey)
    .map((key) => Number(key.slice(NEW.length)))
  return { ...drafts, [`${NEW}${Math.max(0, ...numbers) + 1}`]: UNTOUCHED }
}

/** The drafts after a row was taken out: a new one is forgotten, a record is marked, or no longer marked. */
export function withoutRow(drafts: ChildDrafts, key: string): ChildDrafts {
  const { [key]: before = UNTOUCHED, ...others } = drafts
  if (isNewKey(key)) return others
  const draft = { ...before, isDeleted: !before.isDeleted }
  return isEmpty(draft) ? others : { ...others, [key]: draft }
}

/** The drafts after an input in a row. */
export function withTyped(drafts: ChildDrafts, key: string, typed: Record<string, Raw>): ChildDrafts {
  const { [key]: before = UNTOUCHED, ...others } = drafts
  const draft = { ...before, typed }
  if (isEmpty(draft) && !isNewKey(key)) return others
  // Replaced in its place: the order of new rows is that of their keys.
  return key in drafts ? { ...drafts, [key]: draft } : { ...others, [key]: draft }
}

const isEmpty = ({ typed, isDeleted }: ChildDraft) => !isDeleted && Object.keys(typed).length === 0

/** The changes that are sent for an inverse field, and the rows that they come from. */
export interface ChildChanges {
  create: object[]
  update: object[]
  delete: object[]
  /** key of each row, by the place that the service names in an error: `update.0` */
  keys: Record<string, string>
  /** by row and field */
  faults: Record<string, Record<string, string>>
}

/**
 * Reads all input. New rows in which nothing was typed are left out, and so is a record that somebody else has deleted.
 */
export function childChanges({ fields, rows }: ChildTable, drafts: ChildDrafts, zone: string): ChildChanges {
  const changes: ChildChanges = { create: [], update: [], delete: [], keys: {}, faults: {} }
  const add = (kind: 'create' | 'update' | 'delete', key: string, data: object) => {
    changes.keys[`${kind}.${changes[kind].length}`] = key
    changes[kind].push(data)
  }
  for (const { key, base, draft } of childRows({ rows }, drafts)) {
    const { id, version } = base ?? {}
    if (draft.isDeleted) {
      add('delete', key, { id, version })
      continue
    }
    if (Object.keys(draft.typed).length === 0) continue
    const whole: Draft = { base, typed: draft.typed, zone }
    const { values, faults } = changedValues(whole, fields)
    if (Object.keys(faults).length > 0) changes.faults[key] = faults
    else if (!base) add('create', key, values)
    else if (Object.keys(values).length > 0) add('update', key, { ...values, id, version })
  }
  return changes
}

/** Number of faults in the rows of all inverse fields. */
export const countFaults = (tables: Record<string, ChildChanges['faults']>): number =>
  Object.values(tables).flatMap((rows) => Object.values(rows).flatMap(Object.keys)).length

export const hasChanges = ({ create, update, delete: deleted }: ChildChanges) =>
  create.length + update.length + deleted.length > 0

/** The value of an inverse field in a request: a new record has new ones only. */
export const childValue = ({ create, update, delete: deleted }: ChildChanges, isNew: boolean): unknown =>
  isNew ? create : { create, update, delete: deleted }

/** Divides errors of the service: those of rows by row and field, and the others. */
export function childFaults(errors: Record<string, string>, name: string, { keys }: ChildChanges, isNew: boolean) {
  const faults: ChildChanges['faults'] = {}
  const others: Record<string, string> = {}
  for (const [path, message] of Object.entries(errors)) {
    const rest = path.startsWith(`${name}.`) ? path.slice(name.length + 1) : ''
    const [kind = '', at = '', ...field] = (isNew ? `create.${rest}` : rest).split('.')
    const key = rest === '' ? undefined : keys[`${kind}.${at}`]
    if (key === undefined) others[path] = message
    else faults[key] = { ...faults[key], [field.join('.')]: message }
  }
  return { faults, others }
}
