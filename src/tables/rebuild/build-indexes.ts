import { type Model, tableName } from '../../model/model.ts'
import {
  type ConcurrentCopyDialect,
  type Database,
  isFault,
  Refused,
  type TableDialect,
  type TableState,
} from '../../storage/storage.ts'
import { createIndex, type Index } from '../ddl.ts'
import { execute } from '../execute.ts'
import { MAX_ROWS_TO_FILL, planTable, type TablePlan } from '../plan.ts'
import { describeDuplicates } from '../verify.ts'
import { explainBound } from './concurrent-copy.ts'
import { staleDraftFault } from './draft.ts'

/**
 * Jobs that create and drop indexes of large tables while others write to them. They run outside a transaction, before
 * the one that changes tables.
 */

const rebuildDialect = (db: Database) => db.dialect.tables.rebuild as ConcurrentCopyDialect

export interface BuildInput {
  models: Model[]
  /** whether an index that cannot be built or dropped soon is left to the transaction that changes tables */
  isOptional: boolean
}

/**
 * Creates the indexes that the models need. Returns their names. Drops those that an earlier attempt left unfinished.
 */
export async function buildIndexes(db: Database, { models, isOptional }: BuildInput): Promise<string[]> {
  const ifNeeded = (error: unknown) => {
    if (!isOptional || !isFault(error, 'busy')) throw error
  }
  await execute(db, rebuildDialect(db).endOrphanedBuilds)
  await dropIndexes(db, await rebuildDialect(db).readInvalidIndexes(db)).catch(ifNeeded)
  const built: string[] = []
  for (const model of models) {
    const table = await db.dialect.tables.readTable(db, tableName(model))
    if (!table || table.rows <= MAX_ROWS_TO_FILL) continue
    for (const index of missingIndexes(planTable(model, table, [], db.dialect.tables), table)) {
      const done = () => void built.push(index.name)
      await build(db, index).then(done, ifNeeded)
    }
  }
  return built
}

/** Drops indexes that `buildIndexes` has made for a change that was given up. */
export async function dropIndexes(db: Database, names: string[]): Promise<void> {
  const { dropIndexAtOnce, dropIndexConcurrently } = rebuildDialect(db)
  for (const name of names)
    await execute(db, dropIndexAtOnce(name)).catch(() => execute(db, dropIndexConcurrently(name)))
}

/** Checks the references that a change has added without a check of what was stored before. */
export async function validateReferences(db: Database): Promise<void> {
  for (const text of await rebuildDialect(db).validateReferences(db)) await execute(db, text)
}

/** An index on columns that are there already, perhaps under an earlier name. */
interface MissingIndex extends Index {
  model: Model
  what: string
}

function missingIndexes({ model, steps, refusals }: TablePlan, table: TableState): MissingIndex[] {
  // A rebuilt table gets its indexes before it is filled.
  if (refusals.length > 0 || steps.some(({ kind }) => kind === 'rebuild')) return []
  const renames = new Map(steps.flatMap((step) => (step.kind === 'rename' ? [[step.to, step.from] as const] : [])))
  const nameNow = (name: string) => renames.get(name) ?? name
  const isThere = (name: string) => table.columns.some((column) => column.name === nameNow(name))
  const fields = model.fields.map((field) => ({ ...field, name: nameNow(field.name) }))
  return steps.flatMap((step) => {
    if ((step.kind !== 'index' && step.kind !== 'unique') || !step.index.fields.every(isThere)) return []
    return { ...step.index, fields: step.index.fields.map(nameNow), model: { ...model, fields }, what: step.what }
  })
}

async function build(db: Database, { model, what, ...index }: MissingIndex): Promise<void> {
  const dialect = db.dialect.tables as TableDialect
  try {
    await execute(db, rebuildDialect(db).makeConcurrent(createIndex(index, model, dialect)))
  } catch (error) {
    // An index that cannot be dropped here is dropped by the next change.
    await dropIndexes(db, [index.name]).catch(() => {})
    if (!isFault(error, 'taken')) throw explainBound(error, model, what)
    const reasons = await describeDuplicates(db, model, index.fields)
    throw reasons.length > 0 ? new Refused(reasons) : staleDraftFault('What was not unique is so again.')
  }
}
