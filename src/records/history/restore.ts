import { Failure } from '../../errors.ts'
import type { ChangeRow } from '../../journal/entry.ts'
import { forbidden, type Operation, type Reach, reachFor, scopeFor, type User } from '../../model/access.ts'
import { type Field, isOfType, type Model } from '../../model/model.ts'
import type { Row, Unit } from '../../storage/storage.ts'
import { hiddenValues } from '../../tables/hidden.ts'
import type { Caller } from '../caller.ts'
import type { RecordsContext, Stored } from '../context.ts'
import type { Sought } from '../planned.ts'
import type { createChanges } from '../write/changes.ts'
import type { Checks } from '../write/validate.ts'
import type { ViolationChecks } from '../write/violations.ts'
import type { History } from './history.ts'

/** What restoring needs of the records that it is a part of. */
interface Parts {
  context: RecordsContext
  violations: ViolationChecks
  model: Model
  checks: Checks
  changes: ReturnType<typeof createChanges>
  past: History
  lookUp(id: number, reach: Reach): Promise<Stored | undefined>
  carryOut(unit: Unit, caller: Caller, sent: Row, sought: Sought): Promise<Stored>
}

/** What a restore asks for: of a record that is there, the version that was read, too. */
export interface Restoring {
  version?: number
  to?: number
}

/** Brings back what a record was. */
export function createRestorer(parts: Parts) {
  const { context, model, violations, changes, past, lookUp, carryOut } = parts
  const checks: Checks = parts.checks

  return async function restore(id: number, { version, to }: Restoring, caller: Caller): Promise<Stored> {
    const deletion = await past.deletion(id, caller)
    if (deletion && !(await isThere(id))) return bringBack(id, deletion, { version, to }, caller)
    requireRight('update', caller)
    const reach = reachFor(model, 'update', caller)
    if (!(await lookUp(id, reach))) throw await past.notThere(id, caller)
    // What is wrong with the values of then is told: whoever may not read them would learn them by that.
    requireRight('read', caller)
    if (!(await lookUp(id, reachFor(model, 'read', caller)))) throw await past.notThere(id, caller)
    if (version === undefined)
      throw new Failure('VERSION_REQUIRED', `${model.name} ${id} is not deleted: send the "version" that you read.`)
    if (to === undefined)
      throw new Failure('VALIDATION_FAILED', 'Send the version to go back to.', { errors: { to: 'is required' } })
    const state = await past.stateAt(id, to, caller, () => lookUp(id, reach))
    const data = { ...written(state), version }
    checks.update(data)
    await violations.refuseUnreachable(data, caller, id)
    const unit: Unit = { ...changes.update(id, version, data, caller), as: 'restore' }
    return carryOut(unit, caller, data, { id, version, operation: 'update' })
  }

  /** A record that was deleted: all of it but its secrets, which nobody has kept. */
  async function bringBack(
    id: number,
    deletion: ChangeRow,
    { version, to }: Restoring,
    caller: Caller,
  ): Promise<Stored> {
    requireRight('create', caller)
    if (!model.history) throw new Failure('VERSION_NOT_FOUND', `No history is kept of ${model.name}.`)
    const last = deletion.version
    if (version !== undefined && version !== last)
      throw new Failure('VERSION_CONFLICT', `The last version of ${model.name} ${id} was ${last}, not ${version}.`)
    const state = await past.stateAt(id, to ?? last, caller)
    const data = written(state)
    checks.recreate(data)
    await violations.refuseUnreachable(data, caller)
    const hidden = await hiddenValues(context.storage.db, model, state)
    const next = await past.versionAfter(deletion)
    // What a client cannot set comes back as it was, unless it is of another type by now.
    const recreated = { id, version: next, data: { ...readOnly(state), ...data }, hidden, deletion: deletion.change }
    const unit = changes.recreate(recreated, caller)
    return carryOut(unit, caller, data, { id, version: last, operation: 'read' })
  }

  /** What is sent to bring a state back. A field that is newer than the state is unset, if it may be. */
  function written(state: Row): Row {
    // What a field held while it was a secret is not known: then it stays as it is.
    const isKnown = (name: string) => !Object.hasOwn(state, name) || state[name] !== undefined
    const isRestored = ({ name, readOnly, writeOnly, required }: Field) =>
      !readOnly && !writeOnly && isKnown(name) && (Object.hasOwn(state, name) || !required)
    return Object.fromEntries(model.fields.filter(isRestored).map(({ name }) => [name, state[name] ?? null]))
  }

  function readOnly(state: Row): Row {
    const fields = model.fields.filter((field) => field.readOnly)
    return Object.fromEntries(
      fields.map((field) => [field.name, isOfType(field, state[field.name]) ? state[field.name] : field.default]),
    )
  }

  async function isThere(id: number): Promise<boolean> {
    return (await lookUp(id, { scope: 'all', username: '' })) !== undefined
  }

  function requireRight(operation: Operation, user: User) {
    if (scopeFor(model, operation, user) === 'none') throw forbidden(model, operation)
  }
}
