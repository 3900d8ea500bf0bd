import { FULL_REACH, type Reach, withReachByIndex } from '../../filters/reach.ts'
import { areStatesWithin, NEW_ID, stateStorage } from '../../filters/states-within-reach.ts'
import type { User } from '../../model/access.ts'
import { type Model, tableName, unrestrictedModel, visibleFields } from '../../model/model.ts'
import type { Row } from '../../storage/storage.ts'
import { createRowDecoder } from '../../tables/columns.ts'
import { createComputer } from '../../tables/computed.ts'
import { is } from '../../tables/condition.ts'
import { recordRead } from '../../tables/shape.ts'
import type { Caller } from '../caller.ts'
import type { RecordsContext } from '../context.ts'
import { isLinksChange } from './links.ts'

/**
 * Finds out whether a change that was refused for another reason would have been within reach. If not, that is all that
 * the user is told: other reasons may be about records that they do not see.
 */
export function createOutcomeReachCheck(context: RecordsContext, model: Model) {
  const { storage, access, findSeconds } = context
  const unrestricted = unrestrictedModel(model)
  const decode = createRowDecoder(unrestricted)
  const computed = createComputer(storage, unrestricted)
  const visibleNames = visibleFields(unrestricted).map(({ name }) => name)

  return async function isOutcomeWithinReach(reach: Reach, user: Caller, sent: Row, id?: number): Promise<boolean> {
    if (reach.scope !== 'some') return true
    const before = id === undefined ? newRecord(user) : await current(id)
    const isWritten = ([name, value]: [string, unknown]) =>
      !isLinksChange(value) && model.fields.some((field) => field.name === name && !field.readOnly)
    const changed = Object.fromEntries(Object.entries(sent).filter(isWritten))
    const state: Row = { ...before, ...changed, id: id ?? NEW_ID }
    const record = {
      ...state,
      ...(await computed(Object.fromEntries(visibleNames.map((name) => [name, state[name] ?? null])))),
    }
    const options = { username: user.username, signal: user.signal, seconds: findSeconds }
    const parts = { storage: stateStorage(storage, reach, options), models: access.models }
    const [isWithin] = await areStatesWithin(reach, [record], unrestricted, parts)
    return isWithin === true
  }

  function newRecord({ username }: User): Row {
    const now = new Date().toISOString()
    const defaults = unrestricted.fields.map(({ name, default: given }) => [name, given])
    return {
      ...Object.fromEntries(defaults),
      version: 0,
      createdBy: username,
      updatedBy: username,
      createdOn: now,
      updatedOn: now,
    }
  }

  async function current(id: number): Promise<Row> {
    const statement = storage.db
      .selectFrom(tableName(model))
      .select(['id', 'version', ...visibleNames])
      .where(withReachByIndex(FULL_REACH, undefined, is`"id" = ${id}`))
      .compile()
    const row = await storage.readOne(recordRead(storage.dialect, model, statement))
    return decode({ ...row })
  }
}
