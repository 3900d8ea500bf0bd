import type { Reach } from '../../filters/reach.ts'
import { type Operation, outOfReachFailure, type User } from '../../model/access.ts'
import { invalidFields } from '../../model/explain.ts'
import type { Model } from '../../model/model.ts'
import { requireSameId } from '../../requests/preconditions.ts'
import type { Row, Unit } from '../../storage/storage.ts'
import type { RecordsContext, StoredRecord } from '../context.ts'
import type { PlannedWrite } from '../planned-write.ts'
import type { createAnswers, MergeResult } from './answers.ts'
import type { createConflictThrower } from './conflict.ts'
import { isLinksChange } from './links.ts'
import { createOutcomeReachCheck } from './outcome-reach.ts'
import type { createUnitBuilder } from './units.ts'
import type { Validators } from './validate.ts'
import type { ViolationChecks } from './violations.ts'

type Answers = ReturnType<typeof createAnswers>

/** The parts of `createRecords` that plans are made of. */
interface Dependencies extends Pick<Answers, 'answerWritten' | 'answerMerged'> {
  checks: Validators
  units: ReturnType<typeof createUnitBuilder>
  violations: ViolationChecks
  throwConflict: ReturnType<typeof createConflictThrower>
  findReadable(id: number, user: User): Promise<StoredRecord | undefined>
  findWithin(id: number, reach: Reach): Promise<StoredRecord | undefined>
}

/**
 * Each function validates a write and returns it, planned as a unit of work. `references` holds references to records
 * that earlier operations of the same batch create.
 */
export function createWritePlanner(context: RecordsContext, model: Model, parts: Dependencies) {
  const { access } = context
  const { units, violations, answerWritten, answerMerged, throwConflict, findReadable, findWithin } = parts
  const checks: Validators = parts.checks
  const isOutcomeWithinReach = createOutcomeReachCheck(context, model)

  const plan = {
    async create(data: unknown, user: User, references: Row = {}): Promise<PlannedWrite<StoredRecord>> {
      checks.create(data)
      const sent = { ...data, ...references }
      await violations.refuseUnreachable(sent, user)
      return toPlannedWrite('create', units.create(sent, user), user, sent, (rows) => answerWritten(rows, user))
    },

    /** `data` contains the version that the client has read; fields that it omits keep their values. */
    async update(id: number, data: unknown, user: User, references: Row = {}): Promise<PlannedWrite<StoredRecord>> {
      const { version, sent } = await checkUpdate(id, data, user, references)
      return plan.updateChecked(id, version, sent, user)
    },

    /** An update with data that has been checked. */
    updateChecked(id: number, version: number, sent: Row, user: User): PlannedWrite<StoredRecord> {
      const toResult = (rows: Row[][]) =>
        rows[0]?.[0] ? answerWritten(rows, user) : throwConflict(id, version, 'update', user, sent)
      return toPlannedWrite('update', units.update(id, version, sent, user), user, sent, toResult, id)
    },

    /** Updates the current version if none of the sent fields has been changed since the version in `data`. */
    async merge(id: number, data: unknown, user: User): Promise<PlannedWrite<MergeResult>> {
      const { version, sent } = await checkUpdate(id, data, user)
      const toResult = (rows: Row[][]) =>
        rows[1]?.[0] ? answerMerged(rows, user) : throwConflict(id, version, 'update', user, sent, true)
      return toPlannedWrite('update', units.merge(id, version, sent, user), user, sent, toResult, id)
    },

    async remove(id: number, version: number | undefined, user: User): Promise<PlannedWrite<number>> {
      return toPlannedWrite('delete', units.remove(id, version, user), user, id, (rows) =>
        rows[0]?.[0] ? id : throwConflict(id, version, 'delete', user, {}),
      )
    },
  }

  /** A unit, with what is made of its outcome. */
  const toPlannedWrite = <Result>(
    operation: Operation,
    unit: Unit,
    user: User,
    sentOrDeleted: Row | number,
    toResult: PlannedWrite<Result>['toResult'],
    id?: number,
  ): PlannedWrite<Result> => ({
    unit,
    toResult,
    explain: async (fault) => {
      // A rule's refusal comes before that of a unique value: the user may not see who has the value.
      const isRefused =
        fault.kind === 'no-row' ||
        (fault.kind === 'taken' &&
          !(await isOutcomeWithinReach(access.reachFor(model, operation, user), user, Object(sentOrDeleted), id)))
      return isRefused ? outOfReachFailure(model, operation) : violations.explainViolation(fault, user, sentOrDeleted)
    },
  })

  async function checkUpdate(
    id: number,
    data: unknown,
    user: User,
    references: Row = {},
  ): Promise<{ version: number; sent: Row }> {
    checks.update(data)
    const { id: named, version } = data as { id?: number; version: number }
    requireSameId(named, id)
    const sent = { ...data, ...references }
    await requireReadToChange(id, sent, user)
    try {
      await violations.refuseUnreachable(sent, user, id)
    } catch (error) {
      // The client may have sent back a reference that has been changed since: then report the version conflict.
      const current = await findReadable(id, user)
      if (current && current.version !== version) await throwConflict(id, version, 'update', user, sent)
      throw error
    }
    return { version, sent }
  }

  /**
   * Refuses `add` and `remove` by users who may not read the field: whether they fit its bounds would tell how many ids
   * it has.
   */
  async function requireReadToChange(id: number, sent: Row, user: User): Promise<void> {
    const changed = model.fields.find((field) => field.links && isLinksChange(sent[field.name]))
    const mayKnow = !changed || (!changed.writeOnly && (await findReadable(id, user)))
    if (mayKnow || !(await findWithin(id, access.reachFor(model, 'update', user)))) return
    throw invalidFields({ [changed.name]: 'must be all ids: you may not read those that are there' })
  }

  return { ...plan, toPlannedWrite }
}
