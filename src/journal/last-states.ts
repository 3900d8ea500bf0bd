import { sql } from 'kysely'
import type { LastStates } from '../filters/states.ts'
import { type Model, tableName } from '../model/model.ts'
import type { Row, Storage } from '../storage/storage.ts'
import { createJournal, type Journal } from './journal.ts'
import { asDeleted } from './states.ts'

/** Of some records, those that are deleted, as they were last. */
export function createLastStates(storage: Storage): LastStates {
  const journals = new Map<Model, Journal>()

  return async function lastStates(model: Model, ids: number[]): Promise<Row[]> {
    const gone = await missing(model, ids)
    const states: Row[] = []
    for (const id of gone) {
      const state = await lastState(model, id)
      if (state) states.push(state)
    }
    return states
  }

  async function missing(model: Model, ids: number[]): Promise<number[]> {
    const wanted = storage.dialect.each(JSON.stringify(ids))
    const there = await storage.read({
      ...sql`SELECT "id" FROM ${sql.table(tableName(model))}
        WHERE "id" IN (SELECT CAST(value AS BIGINT) FROM ${wanted} AS wanted)`.compile(storage.db),
      readsRecords: true,
    })
    const found = new Set(there.map(({ id }) => id))
    return ids.filter((id) => !found.has(id))
  }

  async function lastState(model: Model, id: number): Promise<Row | undefined> {
    const journal = journals.get(model) ?? createJournal(storage, model)
    journals.set(model, journal)
    const deletion = await journal.deletion(id)
    const [entry] = deletion ? await journal.entries([deletion as unknown as Row]) : []
    const state = entry && asDeleted(entry)
    return state && journal.toRecord(state, id, entry.version)
  }
}
