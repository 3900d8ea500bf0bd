import { Failure } from '../../errors.ts'
import { FULL_REACH, type Reach } from '../../filters/reach.ts'
import type { ChangeRow } from '../../journal/entry.ts'
import { forbiddenFailure, type Operation, outOfReachFailure, scopeFor, type User } from '../../model/access.ts'
import {
  type Field,
  fieldReference,
  isOfType,
  type Model,
  unrestrictedModel,
  visibleColumns,
} from '../../model/model.ts'
import type { Row, StorageFault, Unit } from '../../storage/storage.ts'
import { hiddenValues } from '../../tables/hidden-values.ts'
import type { Caller } from '../caller.ts'
import type { RecordsContext, RestoreRequest, StoredRecord, UnrestrictedRecords } from '../context.ts'
import type { PlannedWrite, WriteTarget } from '../planned-write.ts'
import { asReferences, idsIn } from '../write/links.ts'
import type { createUnitBuilder } from '../write/units.ts'
import type { Validators } from '../write/validate.ts'
import type { ViolationChecks } from '../write/violations.ts'
import { withoutDetails } from './hidden-details.ts'
import type { History } from './history.ts'
import type { ReversibleChange } from './reversible.ts'

/** The parts of `createRecords` that a restore uses. */
interface Dependencies {
  context: RecordsContext
  violations: ViolationChecks
  model: Model
  checks: Validators
  units: ReturnType<typeof createUnitBuilder>
  history: History
  findWithin(id: number, reach: Reach): Promise<StoredRecord | undefined>
  writeRecord(unit: Unit, caller: Caller, sent: Row, sought: WriteTarget): Promise<StoredRecord>
  plan: {
    remove(id: number, version: number | undefined, user: User): Promise<PlannedWrite>
    /** an update with data that has been checked */
    updateChecked(id: number, version: number, sent: Row, user: User): PlannedWrite
  }
}

/** Whether a record is recreated in the same transaction. */
type IsBack = (model: string, id: number) => boolean

type Deletion = Pick<ChangeRow, 'change' | 'version'>

/** Restores a former version of a record, or a deleted record. */
export function createRestorer(parts: Dependencies) {
  const { context, model, violations, units, history, findWithin, writeRecord, plan } = parts
  const checks: Validators = parts.checks

  async function restore(id: number, { version, to }: RestoreRequest, caller: Caller): Promise<StoredRecord> {
    const deletion = await history.findReadableDeletion(id, caller)
    if (deletion && !(await recordExists(id))) return recreateDeleted(id, deletion, { version, to }, caller)
    requireRight('update', caller)
    const reach = context.access.reachFor(model, 'update', caller)
    if (!(await findWithin(id, reach))) throw await history.notFoundFailure(id, caller)
    // Validation errors reveal former values, so users who may not read the record are refused first.
    requireRight('read', caller)
    if (!(await findWithin(id, context.access.reachFor(model, 'read', caller))))
      throw await history.notFoundFailure(id, caller)
    if (version === undefined)
      throw new Failure('VERSION_REQUIRED', `${model.name} ${id} is not deleted: send the "version" that you read.`)
    if (to === undefined)
      throw new Failure('VALIDATION_FAILED', 'Send the version to go back to.', { errors: { to: 'is required' } })
    const state = await history.stateAtVersion(id, to, caller, () => findWithin(id, reach))
    const data = { ...restorableData(state), version }
    checks.update(data)
    await violations.refuseUnreachable(data, caller, id)
    const unit: Unit = { ...units.update(id, version, data, caller), as: 'restore' }
    return writeRecord(unit, caller, data, { id, version, operation: 'update' })
  }

  /** Recreates a deleted record. Its `writeOnly` fields stay unset, because the journal does not keep their values. */
  async function recreateDeleted(
    id: number,
    deletion: ChangeRow,
    { version, to }: RestoreRequest,
    caller: Caller,
  ): Promise<StoredRecord> {
    requireRight('create', caller)
    if (model.unrestricted) return recreateUnrestricted(id, deletion.version, { version, to }, caller)
    if (!model.history) throw new Failure('VERSION_NOT_FOUND', `No history is kept of ${model.name}.`)
    const last = deletion.version
    if (version !== undefined && version !== last)
      throw new Failure('VERSION_CONFLICT', `The last version of ${model.name} ${id} was ${last}, not ${version}.`)
    const state = await history.stateAtVersion(id, to ?? last, caller)
    const { unit, data } = await planRecreation(id, deletion, state, caller)
    return writeRecord(unit, caller, data, { id, version: last, operation: 'read' })
  }

  /** Restores the last version with all fields. The answer and the errors omit fields that the user may not see. */
  async function recreateUnrestricted(id: number, last: number, { version, to }: RestoreRequest, caller: Caller) {
    if (to !== undefined && to !== last)
      throw new Failure('FORBIDDEN', 'You may restore its last version only: you may not write all its fields.')
    const records = context.unrestrictedRecords?.(model.unrestricted as Model) as UnrestrictedRecords
    const record = await records.restore(id, { ...(version !== undefined && { version }) }, caller).catch((error) => {
      throw withoutDetails(error, model, id)
    })
    const shown = visibleColumns(model)
    const names = shown.filter((name) => Object.hasOwn(record, name))
    return Object.fromEntries(names.map((name) => [name, record[name]])) as StoredRecord
  }

  async function planRecreation(
    id: number,
    deletion: Deletion,
    state: Row,
    caller: Caller,
    isBack: IsBack = () => false,
  ): Promise<{ unit: Unit; data: Row; next: number }> {
    const data = restorableData(state)
    checks.recreate(data)
    await violations.refuseUnreachable(omitRestoredReferences(data, isBack), caller)
    const isKnown = (name: string) => name === 'version' || model.fields.some((field) => field.name === name)
    const hidden = Object.keys(state).every(isKnown) ? {} : await hiddenValues(context.storage.db, model, state)
    const next = await history.nextVersion(deletion)
    // A `readOnly` field gets its former value if that still fits the field's type, otherwise its default.
    const recreated = {
      id,
      version: next,
      data: { ...readOnlyValues(state), ...data },
      hidden,
      deletion: deletion.change,
    }
    return { unit: units.recreate(recreated, caller), data, next }
  }

  /** Data without references to records that come back in the same transaction. */
  function omitRestoredReferences(data: Row, isBack: IsBack): Row {
    const rest = { ...data }
    for (const field of model.fields) {
      const target = fieldReference(field)
      if (!target || !Object.hasOwn(data, field.name)) continue
      const others = idsIn(field, data[field.name]).filter((id) => !isBack(target.model, id))
      if (field.links) rest[field.name] = others
      else if (others.length === 0) delete rest[field.name]
    }
    return rest
  }

  /** Plans to undo one change. Returns the version that the record then has, too. */
  async function planUndo(change: ReversibleChange, caller: Caller, isBack: IsBack) {
    const { id, version, undo, before } = change
    if (undo === 'delete') {
      requireRight('delete', caller)
      return { write: await plan.remove(id, version, caller), version }
    }
    if (undo === 'update') return { write: await planRevertUpdate(change, caller, isBack), version: version + 1 }
    requireRight('create', caller)
    const { unit, data, next } = await planRecreation(id, change, before, caller, isBack)
    const toResult = () => {
      throw new Failure('VERSION_CONFLICT', `${model.name} ${id} has changed since.`)
    }
    const explain = async (fault: StorageFault) =>
      fault.kind === 'no-row' ? outOfReachFailure(model, 'create') : violations.explainViolation(fault, caller, data)
    const write: PlannedWrite = { unit, toResult, explain }
    return { write, version: next }
  }

  async function planRevertUpdate({ id, version, before }: ReversibleChange, caller: Caller, isBack: IsBack) {
    requireRight('update', caller)
    const fields = model.fields.filter(({ name, readOnly, writeOnly }) => name in before && !readOnly && !writeOnly)
    const data: Row = { ...Object.fromEntries(fields.map(({ name }) => [name, before[name]])), version }
    checks.update(data)
    await violations.refuseUnreachable(omitRestoredReferences(data, isBack), caller, id)
    return plan.updateChecked(id, version, data, caller)
  }

  /** The data to write for a former state. A field that did not exist then becomes null; a required one is left out. */
  function restorableData(state: Row): Row {
    // `undefined` marks a value that was not kept because the field was a secret then: the field stays as it is.
    const isKnown = (name: string) => !Object.hasOwn(state, name) || state[name] !== undefined
    const isRestored = ({ name, readOnly, writeOnly, required }: Field) =>
      !readOnly && !writeOnly && isKnown(name) && (Object.hasOwn(state, name) || !required)
    const fields = model.fields.filter(isRestored)
    return Object.fromEntries(fields.map((field) => [field.name, asReferences(field, state[field.name] ?? null)]))
  }

  function readOnlyValues(state: Row): Row {
    const fields = model.fields.filter((field) => field.readOnly)
    return Object.fromEntries(
      fields.map((field) => [field.name, isOfType(field, state[field.name]) ? state[field.name] : field.default]),
    )
  }

  async function recordExists(id: number): Promise<boolean> {
    return (await findWithin(id, FULL_REACH)) !== undefined
  }

  function requireRight(operation: Operation, user: User) {
    // A restored value needs no right to its field, because the user does not write it.
    if (scopeFor(unrestrictedModel(model), operation, user) === 'none') throw forbiddenFailure(model, operation)
  }

  return { restore, planUndo }
}
