import { Failure } from '../../errors.ts'
import { describeConflict } from '../../journal/conflict.ts'
import type { Journal } from '../../journal/journal.ts'
import type { Operation, User } from '../../model/access.ts'
import type { Model } from '../../model/model.ts'
import { type Selection, WHOLE_RECORD } from '../../requests/query.ts'
import type { Row } from '../../storage/storage.ts'
import type { StoredRecord } from '../context.ts'
import { requireBounds } from './links.ts'

interface Dependencies {
  model: Model
  journal: Journal
  /** Returns a record within the user's reach; otherwise throws the reason. */
  requireReachable(id: number, operation: Operation, user: User, selection: Selection): Promise<StoredRecord>
  /** The record, if the user may read it; otherwise undefined. */
  findReadable(id: number, user: User): Promise<StoredRecord | undefined>
}

/** Throws why no row had this id and version: the record does not exist, or another request has changed it. */
export function createConflictThrower({ model, journal, requireReachable, findReadable }: Dependencies) {
  return async function throwConflict(
    id: number,
    version: number | undefined,
    operation: Operation,
    user: User,
    sent: Row,
    isMerge = false,
  ): Promise<never> {
    const writable = await requireReachable(id, operation, user, WHOLE_RECORD)
    const readable = await findReadable(id, user)
    const mayKnow = readable !== undefined
    const current = readable ?? writable
    if (mayKnow && version === current.version) requireBounds(model.fields, current, sent)
    // The version matches now: the conflicting change was rolled back together with this one.
    if (version === undefined || version === current.version)
      throw new Failure(
        'VERSION_CONFLICT',
        `${model.name} ${id} was changed or deleted right before, by an earlier operation of the same batch or by somebody else.`,
      )
    const conflict = mayKnow ? await describeConflict(journal, model, version, current, sent) : undefined
    // Nothing clashes: what is added or removed may be too much.
    if (isMerge && conflict?.clashes.length === 0) requireBounds(model.fields, current, sent)
    throw new Failure(
      'VERSION_CONFLICT',
      `Version ${version} of ${model.name} ${id} is not the current one, which is ${current.version}. ${operation === 'delete' ? 'Look at the current record, and delete it again.' : 'Merge your change into the current record and try again.'}`,
      { data: [mayKnow ? current : { id, version: current.version }], conflict },
    )
  }
}
