import { sql } from 'kysely'
import type { LastStates } from '../filters/states.ts'
import { Yielder } from '../lib/yielder.ts'
import { type Model, tableName } from '../model/model.ts'
import type { Row, Storage } from '../storage/storage.ts'
import { createJournal, type Journal } from './journal.ts'
import { asDeleted } from './states.ts'

/** Milliseconds that a search for deleted records may run before it yields to other requests. */
const YIELD_MS = 5

/** Of some records, those that are deleted, as they were last. */
export function createLastStates(storage: Storage): LastStates {
  const journals = new Map<Model, Journal>()

  return async function lastStates(model: Model, ids: number[]): Promise<Row[]> {
    const gone = await missing(model, ids)
    const states: Row[] = []
    const yielder = new Yielder(YIELD_MS)
    for (const id of gone) {
      states.push(...(await lastState(model, id)))
      if (yielder.isDue) await yielder.yield()
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

  async function lastState(model: Model, id: number): Promise<Row[]> {
    const journal = journals.get(model) ?? createJournal(storage, model)
    journals.set(model, journal)
    const deletion = (await journal.deletion(id)) as unknown as Row | undefined
    const entries = await journal.entries(deletion ? [deletion] : [])
    const states = entries.flatMap((entry): Row[] => [asDeleted(entry) ?? []].flat() as Row[])
    return Promise.all(states.map((state) => journal.toRecord(state, id, state.version as number)))
  }
}
