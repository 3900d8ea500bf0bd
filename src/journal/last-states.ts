import { sql } from 'kysely'
import type { LastStates } from '../filters/states-within-reach.ts'
import { inGroups } from '../lib/in-groups.ts'
import { yieldToOthers } from '../lib/yielder.ts'
import { type Model, tableName } from '../model/model.ts'
import type { Row, Storage } from '../storage/storage.ts'
import { createJournal, type Journal } from './journal.ts'
import { stateWhenDeleted } from './rebuild-state.ts'

/** Deleted records that are looked for before other requests run. */
const RECORDS_PER_PORTION = 50

/** Reads the last states of the deleted ones among some records. */
export function createLastStates(storage: Storage): LastStates {
  const journals = new Map<Model, Journal>()

  return async function lastStates(model: Model, ids: number[]): Promise<Row[]> {
    const gone = await findDeletedIds(model, ids)
    const states: Row[] = []
    for (const group of inGroups(gone, RECORDS_PER_PORTION)) {
      for (const id of group) states.push(...(await lastState(model, id)))
      await yieldToOthers()
    }
    return states
  }

  async function findDeletedIds(model: Model, ids: number[]): Promise<number[]> {
    const wanted = storage.dialect.jsonEach(JSON.stringify(ids))
    const existingRows = await storage.read({
      ...sql`SELECT "id" FROM ${sql.table(tableName(model))}
        WHERE "id" IN (SELECT CAST(value AS BIGINT) FROM ${wanted} AS wanted)`.compile(storage.db),
      readsRecords: true,
    })
    const found = new Set(existingRows.map(({ id }) => id))
    return ids.filter((id) => !found.has(id))
  }

  async function lastState(model: Model, id: number): Promise<Row[]> {
    const journal = journals.get(model) ?? createJournal(storage, model)
    journals.set(model, journal)
    const deletion = (await journal.findDeletion(id)) as unknown as Row | undefined
    const entries = await journal.decodeEntries(deletion ? [deletion] : [])
    const states = entries.map(stateWhenDeleted).filter((state) => state !== undefined)
    return Promise.all(states.map((state) => journal.toRecord(state, id, state.version as number)))
  }
}
