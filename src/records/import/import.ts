import { setTimeout as sleep } from 'node:timers/promises'
import { Failure } from '../../errors.ts'
import { keyInUseFailure } from '../../journal/idempotency.ts'
import type { ResumableImport } from '../../journal/resumable-import.ts'
import { nextPortion } from '../../lib/next-portion.ts'
import { Yielder } from '../../lib/yielder.ts'
import { forbiddenFailure, requireSameRights, scopeFor, type User } from '../../model/access.ts'
import { type Field, ID_FIELD, isUniqueField, type Model } from '../../model/model.ts'
import { badRequest } from '../../requests/query.ts'
import { defineJob, type MaybePromise, type Progress, type Step, StorageFault } from '../../storage/storage.ts'
import { encodeComparable } from '../../tables/columns.ts'
import { recordRead, shapesWithOrderKeys } from '../../tables/shape.ts'
import type { RecordsContext } from '../context.ts'
import { isBeyondReach, joinWrites, type PlannedWrite } from '../planned-write.ts'
import { explainFault } from '../write/explain-fault.ts'
import type { CheckInput, CheckResult } from './check-rows.ts'
import { type CheckedRow, readCheckedRows } from './checked-rows.ts'
import {
  type ImportCounts,
  type ImportProgress,
  importCounts,
  importInterrupted,
  importRefusedFailure,
  withLine,
} from './failures.ts'
import { matchingRows } from './matching-rows.ts'
import type { FileFormat } from './read-rows.ts'

export interface ImportOptions extends FileFormat {
  file: string
  /** file that receives the valid rows */
  checked: string
  key?: string | undefined
  dryRun: boolean
  /** stored progress of a request with an idempotency key, from which a repeated request continues */
  resumable?: ResumableImport<ImportProgress> | undefined
  /** Returns the user as of now, because rights may be revoked during an import. */
  refreshUser?: (() => MaybePromise<User | undefined>) | undefined
  /** runs in another process than the service, which waits for its database lock: pauses between portions */
  isOtherProcess?: boolean
  onProgress?: ((phase: 'checked' | 'written', progress: Progress) => void) | undefined
}

interface Dependencies {
  context: RecordsContext
  model: Model
  plan: {
    create(data: unknown, user: User): Promise<PlannedWrite>
    update(id: number, data: unknown, user: User): Promise<PlannedWrite>
  }
}

const CHECK = defineJob<CheckInput, CheckResult>(import.meta.resolve('./check-rows.ts'), 'checkRows')
/** Approximate time that other writes may wait for a portion; and the limits of its rows and characters. */
const PORTION_MS = 20
const FIRST_PORTION = 50
const MAX_ROWS = 500
const MAX_CHARACTERS = 1_000_000
/** Pause after each portion if `isOtherProcess`, as a fraction of the time that the portion took. */
const OTHER_PROCESS_PAUSE = 0.25
/** Attempts per portion, if other requests change the same records or keep the writer busy. */
const MAX_ATTEMPTS = 10

/** State shared by all portions of an import, with its progress. */
interface Run {
  user: User
  key: Field | undefined
  resumable: ResumableImport<ImportProgress> | undefined
  done: ImportProgress
}

/** Imports a file of rows: first checks all, then writes them in portions, so that other writes can run in between. */
export function createImporter({ context, model, plan }: Dependencies) {
  const { storage, models, access, maxRecordLength } = context
  const shapes = shapesWithOrderKeys([model], storage.dialect.tables)

  async function importAll(importing: ImportOptions, user: User): Promise<ImportCounts> {
    const { file, checked: target, format, delimiter, columns, zone, decimal } = importing
    const { dryRun, resumable, isOtherProcess, onProgress = () => {} } = importing
    const { refreshUser = () => user } = importing
    requireSameRights(await refreshUser(), user)
    const key = findKeyField(importing.key, user)
    const done: ImportProgress = { ...NOTHING_DONE, ...resumable?.progress }
    if (done.isOver) return importCounts(done)
    const who = { username: user.username, roles: user.roles, attributes: user.attributes ?? {} }
    const input = {
      file,
      target,
      format,
      delimiter,
      columns,
      zone,
      decimal,
      model,
      models: [...models.values()],
      user: who,
      key: key?.name,
    }
    const result = await storage.runReadJob(CHECK, { ...input, skip: done.row, longest: maxRecordLength }, (progress) =>
      onProgress('checked', progress),
    )
    if (Object.keys(result.errors).length > 0)
      throw (await resumable?.isOvertaken()) ? keyInUseFailure() : importRefusedFailure(result.errors, done)
    if (dryRun) return importCounts(result)
    const run: Run = { user, key, resumable, done }
    try {
      let size = FIRST_PORTION
      for await (const rows of readPortions(target, done.row, () => size)) {
        requireSameRights(await refreshUser(), user)
        const start = performance.now()
        await write(rows, run)
        const took = performance.now() - start
        size = nextPortion(rows.length, took, PORTION_MS, MAX_ROWS)
        if (isOtherProcess) await sleep(took * OTHER_PROCESS_PAUSE)
        onProgress('written', { done: done.row, of: result.rows })
      }
      if (resumable) await writeSteps([], { ...done, isOver: true }, run)
    } catch (error) {
      throw importInterrupted(error, done)
    }
    return importCounts(done)
  }

  /** Writes all rows of a portion or none. If another request has changed a row's record, looks it up and retries. */
  async function write(rows: CheckedRow[], run: Run): Promise<void> {
    for (let attempts = 1; ; attempts++) {
      const changing = rows.filter(({ kind }) => kind !== 'unchanged')
      const planned = await planAll(changing, run.user)
      const joined = joinWrites(planned)
      const next = { ...run.done, row: rows.at(-1)?.number as number }
      for (const { kind } of rows) next[kind]++
      try {
        await writeSteps(joined.steps, next, run)
        return
      } catch (error) {
        if (!(error instanceof StorageFault)) throw error
        const at = joined.writeIndexOf(error.details.step) ?? Number.POSITIVE_INFINITY
        const row = changing[at]
        const mayChange = !isBeyondReach(error, joined.steps) && attempts < MAX_ATTEMPTS
        if (row && run.key && !row.isStrict && mayChange) await refreshTarget(row, run.key, run.user)
        else if (row) throw withLine(row.line, await explainFault(planned[at] as PlannedWrite, error, joined.steps))
        else if (error.kind !== 'busy' || attempts === MAX_ATTEMPTS) throw error
      }
    }
  }

  async function writeSteps(written: Step[], next: ImportProgress, { user, resumable, done }: Run): Promise<void> {
    const steps = resumable ? [...written, resumable.step(next)] : written
    try {
      if (steps.length > 0) await storage.write({ shapes, steps, by: user.username, silent: true })
    } catch (error) {
      throw (await resumable?.isOvertaken()) ? keyInUseFailure() : error
    }
    resumable?.confirmWritten()
    Object.assign(done, next)
  }

  async function planAll(rows: CheckedRow[], user: User): Promise<PlannedWrite[]> {
    const planned: PlannedWrite[] = []
    const yielder = new Yielder()
    for (const { line, kind, data, id, version } of rows) {
      try {
        const isNew = kind === 'created'
        const one = isNew ? plan.create({ ...data }, user) : plan.update(id as number, { ...data, version }, user)
        planned.push(await one)
      } catch (error) {
        throw withLine(line, error)
      }
      if (yielder.isDue) await yielder.yield()
    }
    return planned
  }

  /** Finds the record that a row updates now, or turns the row into a create. */
  async function refreshTarget(row: CheckedRow, key: Field, user: User): Promise<void> {
    const values = [[encodeComparable(key, key === ID_FIELD ? row.id : row.data[key.name])]]
    const reach = access.reachFor(model, 'update', user)
    const statement = matchingRows(storage.db, model, { reach, by: [key], values, columns: ['id', 'version'] })
    const { id, version } = ((await storage.readOne(recordRead(storage.dialect, model, statement))) ?? {}) as {
      id?: number
      version?: number
    }
    const mayMake = key !== ID_FIELD && scopeFor(model, 'create', user) !== 'none'
    if (id === undefined && !mayMake)
      throw withLine(
        row.line,
        new Failure('RECORD_NOT_FOUND', `The ${model.name} that it is about is not there any more.`),
      )
    Object.assign(row, id === undefined ? { kind: 'created' } : { kind: 'updated', id, version })
  }

  /** Returns the field that identifies records. Throws if it cannot be a key, or if the user may not import. */
  function findKeyField(name: string | undefined, user: User): Field | undefined {
    const operation = name === undefined ? 'create' : 'update'
    if (scopeFor(model, operation, user) === 'none') throw forbiddenFailure(model, operation)
    if (name === undefined) return undefined
    const mayBeKey = ({ name: one, writeOnly, readOnly }: Field) => isUniqueField(model, one) && !writeOnly && !readOnly
    const keyFields = [ID_FIELD, ...model.fields.filter(mayBeKey)]
    const field = keyFields.find((one) => one.name === name)
    if (field) return field
    throw badRequest(`"key" must be a unique field of ${model.name}: ${keyFields.map((one) => one.name).join(', ')}.`)
  }

  function requireImportRight(key: string | undefined, user: User): void {
    findKeyField(key, user)
  }

  return { importAll, requireImportRight }
}

const NOTHING_DONE: ImportProgress = { row: 0, created: 0, updated: 0, unchanged: 0, isOver: false }

/** Reads the valid rows in portions of `size()` rows, or fewer if they are long. */
async function* readPortions(file: string, before: number, size: () => number): AsyncGenerator<CheckedRow[]> {
  let rows: CheckedRow[] = []
  let characters = 0
  for await (const { row, size: length } of readCheckedRows(file, before)) {
    rows.push(row)
    characters += length
    if (rows.length < size() && characters < MAX_CHARACTERS) continue
    yield rows
    rows = []
    characters = 0
  }
  if (rows.length > 0) yield rows
}
