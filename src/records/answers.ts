import { Failure } from '../errors.ts'
import type { Kept } from '../journal/once.ts'
import { type Person, reaches, reachOf } from '../model/access.ts'
import { type Model, visibleFields } from '../model/model.ts'
import type { Row } from '../storage/storage.ts'
import { rowDecoder } from '../tables/columns.ts'
import { mergedFields } from './merge.ts'
import type { Stored } from './surroundings.ts'

/** What is answered to a change on top of others'. */
export interface Merged {
  record: Stored
  merged: string[]
}

/** What is answered to who has written a record: from the rows of the unit, or from what was kept of an earlier one. */
export function answersOf(model: Model) {
  const decode = rowDecoder(model) as (row: Row) => Stored
  const shown = ['id', 'version', ...visibleFields(model).map(({ name }) => name)]

  const mayRead = (person: Person, record: Stored) => reaches(reachOf(model, 'read', person), record)

  /** Who may write a record but not read it learns only that it was written. */
  const asSeenBy = (person: Person, record: Stored) => (mayRead(person, record) ? record : stubOf(record))

  /** The last step is what writes. */
  const written = (rows: Row[][], person: Person) => asSeenBy(person, decode(rows.at(-1)?.[0] as Row))

  /** The step before tells what others had changed. */
  function merged(rows: Row[][], person: Person): Merged {
    const record = decode(rows.at(-1)?.[0] as Row)
    const names = mayRead(person, record) ? mergedFields(model, rows[0]?.[0]?.merged as string) : []
    return { record: asSeenBy(person, record), merged: names }
  }

  /** The same once more, as far as it may still be seen. */
  const replay = {
    written: (kept: Kept, person: Person) => written(known(kept), person),
    merged: (kept: Kept, person: Person) => merged(known(kept), person),
    removed: ({ rows }: Kept): number => rows.at(-1)?.[0]?.id as number,
  }

  /** What is shown today of the rows of then. */
  function known({ rows, isCurrent }: Kept): Row[][] {
    const row = rows.at(-1)?.[0] as Stored
    if (isCurrent) return [...rows.slice(0, -1), [Object.fromEntries(shown.map((name) => [name, row[name]]))]]
    throw new Failure(
      'KEY_REUSED',
      `This request was carried out, but tables have been changed since, and what it was answered cannot be told again. Read ${model.name} ${row.id}.`,
      { data: [stubOf(row)] },
    )
  }

  return { mayRead, asSeenBy, written, merged, replay }
}

const stubOf = ({ id, version }: Stored): Stored => ({ id, version })
