import { sql } from 'kysely'
import { Failure } from '../../errors.ts'
import type { Access } from '../../filters/access.ts'
import { FULL_REACH, withReach } from '../../filters/reach.ts'
import { secondsUntil } from '../../lib/deadline.ts'
import { type Field, fieldReference, type Model, tableName, visibleField } from '../../model/model.ts'
import type { VisibleModelsFor } from '../../model/visible-models.ts'
import { ROWS_PER_ABORT_CHECK } from '../../storage/dialect.ts'
import { isFault, type Storage } from '../../storage/storage.ts'
import { is } from '../../tables/condition.ts'
import { refersToOne } from '../../tables/links.ts'
import { shapesWithOrderKeys } from '../../tables/shape.ts'
import type { Caller } from '../caller.ts'

/** The effect of a delete on the records of one model that refer to a deleted record. */
export interface DeleteEffect {
  model: string
  /** the reference */
  field: string
  operation: 'delete' | 'clear' | 'restrict'
  records: number
}

export interface DeletePreview {
  data: DeleteEffect[]
  /** number of records that the user may not read, and that would be deleted, changed, or in the way */
  hidden: number
}

const DELETE_EFFECTS = { cascade: 'delete', clear: 'clear', restrict: 'restrict' } as const

const MAX_RECORDS = 100_000
/** More than so many ids have. */
const MAX_BYTES = 16_777_216

interface Dependencies {
  storage: Storage
  access: Access
  /** The models as a user sees them. */
  visibleModelsFor: VisibleModelsFor
  findSeconds: number
  /** records that are examined */
  maxRecords?: number
}

/** A record that is deleted. */
interface Target {
  model: Model
  id: number
}

const keyOf = ({ model, id }: Target) => `${model.name} ${id}`

/** A record that refers to a deleted one. */
interface Referring {
  model: Model
  field: Field
  id: number
  isSeen: boolean
}

/** Finds out what deletes would do to other records, without doing it. */
export function createDeletePreview({
  storage,
  access,
  visibleModelsFor,
  findSeconds,
  maxRecords = MAX_RECORDS,
}: Dependencies) {
  async function preview(targets: Target[], caller: Caller): Promise<DeletePreview> {
    return summary(await findReferring(targets, caller))
  }

  /** Finds the records that a delete of the targets would delete or clear, or that would prevent it. */
  async function findReferring(targets: Target[], caller: Caller): Promise<Referring[]> {
    const deadline = performance.now() + findSeconds * 1000
    const deleted = new Set(targets.map(keyOf))
    const found: Referring[] = []
    let next = targets
    while (next.length > 0) {
      const some = await findReferringTo(next, caller, deadline)
      found.push(...some)
      if (found.length > maxRecords) throw TOO_MANY_REFERRING
      next = some.filter((one) => {
        const isNew = fieldReference(one.field)?.onDelete === 'cascade' && !deleted.has(keyOf(one))
        if (isNew) deleted.add(keyOf(one))
        return isNew
      })
    }
    const targetKeys = new Set(targets.map(keyOf))
    return found.filter((one) =>
      fieldReference(one.field)?.onDelete === 'cascade' ? !targetKeys.has(keyOf(one)) : !deleted.has(keyOf(one)),
    )
  }

  async function findReferringTo(deleted: Target[], caller: Caller, deadline: number) {
    const found: Referring[] = []
    for (const [target, group] of Map.groupBy(deleted, ({ model }) => model.name))
      for (const model of access.models.values())
        for (const field of model.fields)
          if (fieldReference(field)?.model === target)
            found.push(...(await readReferring(model, field, group, caller, deadline)))
    return found
  }

  async function readReferring(
    model: Model,
    field: Field,
    deleted: { id: number }[],
    caller: Caller,
    deadline: number,
  ) {
    const { dialect } = storage
    const reach = access.reachFor(model, 'read', caller)
    const ids = dialect.jsonEach(JSON.stringify(deleted.map(({ id }) => id)))
    const refers = refersToOne(model, field, sql`SELECT CAST(value AS BIGINT) FROM ${ids}`)
    const isSeen = sql`CASE WHEN ${withReach(reach)} THEN 1 ELSE 0 END`
    // All that refer are counted, also those that the user does not see: only their number is told.
    const where = withReach(FULL_REACH, is`${dialect.abortCheck(ROWS_PER_ABORT_CHECK)}`, refers)
    const statement = sql`
      SELECT "id", ${isSeen} AS "seen" FROM ${sql.table(tableName(model))} WHERE ${where} LIMIT ${maxRecords + 1}`
    const { username, signal } = caller
    const seconds = secondsUntil(deadline)
    const shapes = shapesWithOrderKeys([model, ...reach.models], dialect.tables)
    const options = { username, signal, seconds, bytes: MAX_BYTES, shapes }
    const { rows } = await storage.search(statement.compile(storage.db), options).catch((error: unknown) => {
      throw isFault(error, 'slow') ? TOO_MANY_REFERRING : error
    })
    // A user who may not read the field must not learn that it refers to the record.
    const isShown = visibleField(visibleModelsFor(caller).get(model.name) as Model, field.name) !== undefined
    return rows.map(({ id, seen }): Referring => ({ model, field, id: id as number, isSeen: seen === 1 && isShown }))
  }

  return { preview, findReferring }
}

/** Counts records by model, field and operation. A record that is deleted because of several references counts once. */
function summary(found: Referring[]): DeletePreview {
  const effects = new Map<string, DeleteEffect>()
  const counted = new Set<string>()
  let hidden = 0
  for (const { model, field, id, isSeen } of found) {
    const operation = DELETE_EFFECTS[fieldReference(field)?.onDelete as keyof typeof DELETE_EFFECTS]
    const key = operation === 'delete' ? `delete ${model.name} ${id}` : `${operation} ${model.name} ${field.name} ${id}`
    if (counted.has(key)) continue
    counted.add(key)
    if (!isSeen) {
      hidden++
      continue
    }
    const name = `${operation} ${model.name} ${field.name}`
    const effect = effects.get(name) ?? { model: model.name, field: field.name, operation, records: 0 }
    effects.set(name, { ...effect, records: effect.records + 1 })
  }
  return { data: [...effects.values()], hidden }
}

const TOO_MANY_REFERRING = new Failure(
  'FIND_TOO_SLOW',
  `This would concern more than ${MAX_RECORDS} records, or they take too long to count.`,
)
