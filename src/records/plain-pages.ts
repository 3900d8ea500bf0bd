import { sql } from 'kysely'
import { type Model, tableOf } from '../model/model.ts'
import type { Position } from '../requests/cursor.ts'
import type { Query } from '../requests/query.ts'
import { sizeOf } from '../storage/size.ts'
import type { Found, Row, Storage } from '../storage/storage.ts'
import type { countsOf } from '../tables/counts.ts'
import { Chunks, type Room } from './chunks.ts'
import { columnsOf } from './expand.ts'
import { hole, preparedOnce } from './prepared.ts'

interface Start {
  from: number
  skip: number
  count: number
}

/** All records in the order of their ids: one statement for every page, compiled once, started where the counts say. */
export function plainPages(storage: Storage, model: Model, counts: ReturnType<typeof countsOf>) {
  const prepared = preparedOnce<Start>()
  const chunks = new Chunks()

  return (query: Query, position: Position | undefined, room: Room): Found => {
    const wanted = query.limit + 1
    const rows: Row[] = []
    let largest = 0
    for (let start = startOf(query, position); ; start = after(rows)) {
      const count = chunks.next(wanted - rows.length)
      const some = storage.read(statementOf(query, { ...start, count }))
      for (const row of some) {
        const size = sizeOf(row)
        largest = Math.max(largest, size)
        room.left -= size
        if (room.left < 0 && rows.length > 0) {
          chunks.learn(largest)
          return { rows, isCut: true }
        }
        rows.push(row)
      }
      if (some.length < count || rows.length === wanted) break
    }
    chunks.learn(largest)
    return { rows, isCut: false }
  }

  function startOf({ offset }: Query, position: Position | undefined): { from: number; skip: number } {
    if (position) return { from: position.id + 1, skip: 0 }
    return offset > 0 ? counts.locate(offset) : { from: 0, skip: 0 }
  }

  function statementOf(query: Query, start: Start) {
    return prepared(`${query.fields ?? '*'} ${query.expand}`, start, () =>
      storage.db
        .selectFrom(tableOf(model))
        .select(columnsOf(model, query))
        .where(
          'id',
          '>=',
          hole<Start>(({ from }) => from),
        )
        .orderBy('id')
        // With a bare parameter SQLite would plan the statement anew for every value.
        .limit(sql<number>`${hole<Start>(({ count }) => count)} + 0`)
        .offset(hole<Start>(({ skip }) => skip)),
    )
  }
}

const after = (rows: Row[]) => ({ from: (rows.at(-1)?.id as number) + 1, skip: 0 })
