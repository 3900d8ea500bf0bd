import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import { type Model, tableName } from '../model/model.ts'
import { isFault, type Storage } from '../storage/storage.ts'
import { INDEX_PORTION, indexInput, searchDefinition, searchIndexName } from '../tables/search-index.ts'
import { CREATE_TRIGRAMS, trigramInput } from '../tables/trigram-index.ts'
import { repeat } from './repeat.ts'

const POLL_MS = 1000
/** A table gets an index when its highest id exceeds this: a search reads smaller tables as fast without one. */
export const MIN_LAST_ID_FOR_INDEX = 5000
/** More units written since the last round than these count as load. */
const MAX_IDLE_UNITS = 20
/**
 * How long a portion may take, and the pause after it as a multiple of that: under a load a fourteenth of the time is
 * taken.
 */
const LOADED_PACE = { ms: 10, pause: 13 }
const IDLE_PACE = { ms: 60, pause: 0.3 }

/** Where the engine fills indexes by itself, it is checked in every tenth round only whether one is missing. */
const ROUNDS_PER_CHECK = 10
/** How long the creation of an index waits for transactions of others. */
const CREATE_LOCK_MS = 60_000

export interface SearchIndexParts {
  log: Pick<Logger, 'warn'>
  models(): Model[]
  /** units that were written since the start */
  countUnits(): number
  onError(task: string, error: unknown): void
}

/** Fills the indexes of text searches in the background. Returns a stop function. */
export function maintainSearchIndexes(
  storage: Storage,
  { log, models, countUnits, onError }: SearchIndexParts,
  pollMs = POLL_MS,
): () => void {
  const { tables } = storage.dialect
  let seen = 0
  const run = async (isStopped: () => boolean) => {
    const before = seen
    seen = countUnits()
    const pace = seen - before > MAX_IDLE_UNITS ? LOADED_PACE : IDLE_PACE
    for (const model of models())
      if (!isStopped() && model.search.length > 0)
        await catchUp(model, pace, isStopped).catch((error) => fail(model, error, isStopped))
  }
  const catchUp = async (model: Model, pace: typeof IDLE_PACE, isStopped: () => boolean) => {
    if (await lacksEntries(storage, model))
      await (tables.wordIndex ? addPortions(model, pace, isStopped) : create(model))
  }
  const fail = ({ name }: Model, error: unknown, isStopped: () => boolean) => {
    // Another process may be changing tables, or creating the same index.
    if (!isStopped() && !isFault(error, 'busy')) onError(`filling the index for text searches in ${name}`, error)
  }
  /** Adds portions for one round, about a second; then the load and the other models are checked again. */
  const addPortions = async (model: Model, { ms, pause }: typeof IDLE_PACE, isStopped: () => boolean) => {
    const end = performance.now() + pollMs
    for (let hasMore = true; hasMore && !isStopped() && performance.now() < end; ) {
      const start = performance.now()
      hasMore = await storage.runWriteJob(INDEX_PORTION, indexInput(model, tables, ms))
      await sleep(pause * (performance.now() - start), undefined, { ref: false })
    }
  }
  let isTold = false
  /** One process after the other; else they would create the same index. */
  const create = async (model: Model) => {
    const make = () => storage.runWriteJob(CREATE_TRIGRAMS, trigramInput(model, tables), { lockMs: CREATE_LOCK_MS })
    const missing = await storage.runExclusively?.(make)
    if (missing !== undefined && !isTold) log.warn(missing)
    isTold ||= missing !== undefined
    await storage.refreshShapes()
  }
  return repeat({
    everyMs: tables.wordIndex ? pollMs : ROUNDS_PER_CHECK * pollMs,
    run,
    onError: (error) => onError('filling the indexes for text searches', error),
  })
}

/** Whether there are records without an entry. */
async function lacksEntries(storage: Storage, model: Model): Promise<boolean> {
  const table = tableName(model)
  const definition = searchDefinition(model, storage.dialect.tables)
  if (storage.dialect.tables.trigramIndex) {
    if (storage.shape(searchIndexName(table)) === definition) return false
    const highest = { sql: `SELECT max("id") AS last FROM "${table}"`, parameters: [], readsRecords: true }
    return Number((await storage.readOne(highest))?.last) > MIN_LAST_ID_FOR_INDEX
  }
  const sql = `
    SELECT (SELECT max("id") FROM "${table}") AS last,
      (SELECT filled FROM dossier_search WHERE tbl = ? AND definition = ?) AS filled,
      EXISTS (SELECT 1 FROM dossier_unsearched WHERE tbl = ?) AS noted`
  const row = await storage.readOne({ sql, parameters: [table, definition, table], readsRecords: true })
  const { last, filled, noted } = row as { last: number | null; filled: number | null; noted: number }
  if (filled === null) return last !== null && last > MIN_LAST_ID_FOR_INDEX
  // All records may have entries although the index is not marked as filled: the last portion ran out of time.
  if (storage.shape(searchIndexName(table)) !== definition) return true
  return noted === 1 || (last !== null && last > filled)
}
