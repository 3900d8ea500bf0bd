import { Failure } from '../../errors.ts'
import type { Entry } from '../../journal/entry.ts'
import { stateWhenDeleted } from '../../journal/rebuild-state.ts'
import { type Field, fieldReference, isAuditField, type Model } from '../../model/model.ts'
import type { Row } from '../../storage/storage.ts'
import { asReferences, idsIn } from '../write/links.ts'

/** A change of a record, and how it is undone. */
export interface ReversibleChange {
  model: Model
  id: number
  change: number
  /** of the record after the change; of a delete, the version that was deleted */
  version: number
  undo: 'restore' | 'update' | 'delete'
  /** the values before it, by field; of a delete, the whole record */
  before: Row
  /** model and id of each record that the deleted one referred to */
  refersTo: string[]
}

/** Throws if the journal does not keep what it was before. */
export function toReversible(model: Model, entry: Entry, row: Row): ReversibleChange {
  const { change, version, operation, values, isForgotten } = entry
  const id = row.id as number
  const isMade = row.was === null && operation !== 'delete'
  if (operation === 'forget' || (isForgotten && operation !== 'create')) throw notKeptFailure(model, id)
  const fields = model.fields.filter(({ name }) => values.has(name) && !isAuditField(model, name))
  const isUpdate = operation !== 'delete' && !isMade
  if (isUpdate) for (const field of fields) requireKept(model, id, field, values.get(field.name) !== undefined)
  const former =
    operation === 'delete'
      ? (stateWhenDeleted(entry) as Row)
      : Object.fromEntries(fields.map(({ name }) => [name, values.get(name)?.from ?? null]))
  const before = { ...former }
  for (const field of model.fields)
    if (Object.hasOwn(former, field.name)) before[field.name] = asReferences(field, former[field.name])
  return {
    model,
    id,
    change,
    version,
    undo: operation === 'delete' ? 'restore' : isMade ? 'delete' : 'update',
    before,
    refersTo: model.fields.flatMap((field) =>
      idsIn(field, before[field.name]).map((one) => `${fieldReference(field)?.model} ${one}`),
    ),
  }
}

function requireKept(model: Model, id: number, { name, readOnly }: Field, isKept: boolean): void {
  if (!isKept && !readOnly)
    throw new Failure('VERSION_NOT_FOUND', `What ${name} of ${model.name} ${id} was is not kept: it is a secret.`)
}

const notKeptFailure = (model: Model, id: number) =>
  new Failure('VERSION_NOT_FOUND', `What ${model.name} ${id} was is not kept.`)
