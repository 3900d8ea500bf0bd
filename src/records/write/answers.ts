import { Failure } from '../../errors.ts'
import type { Kept } from '../../journal/idempotency.ts'
import { type Person, reaches, reachOf } from '../../model/access.ts'
import { type Model, visibleFields } from '../../model/model.ts'
import type { Row } from '../../storage/storage.ts'
import { rowDecoder } from '../../tables/columns.ts'
import { mergedFields } from './merge.ts'
import type { Stored } from '../context.ts'

/** What is answered to a change on top of others'. */
export interface Merged {
  record: Stored
  merged: string[]
}

/** A record as it was at a version; undefined if that is not kept. */
type Rebuild = (id: number, version: number, person: Person) => Promise<Stored | undefined>

/** What is answered to who has written a record: from the rows of the unit, or from what was kept of an earlier one. */
export function answersOf(model: Model, rebuild: Rebuild) {
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
    return { record: asSeenBy(person, record), merged: mergedIn(rows, record, person) }
  }

  const mergedIn = (rows: Row[][], record: Stored, person: Person) =>
    mayRead(person, record) ? mergedFields(model, rows[0]?.[0]?.merged as string) : []

  /** The same once more, as far as it may still be seen. Of a key most often only ids and versions are kept. */
  const replay = {
    written: async (kept: Kept, person: Person) => asSeenBy(person, await recordOf(kept, person)),
    merged: async (kept: Kept, person: Person): Promise<Merged> => {
      const record = await recordOf(kept, person)
      return { record: asSeenBy(person, record), merged: mergedIn(kept.rows, record, person) }
    },
    removed: async ({ rows }: Kept): Promise<number> => rows.at(-1)?.[0]?.id as number,
    /** among others, which are answered in any case: where it is not kept, its id and version */
    writtenOrStub: async (kept: Kept, person: Person) =>
      asSeenBy(person, (await findRecord(kept, person)) ?? stubOf(kept.rows.at(-1)?.[0] as Stored)),
  }

  async function findRecord({ rows, isCurrent }: Kept, person: Person): Promise<Stored | undefined> {
    const row = rows.at(-1)?.[0] as Stored
    const isWhole = Object.keys(row).length > 2
    if (isWhole && isCurrent) return decode(Object.fromEntries(shown.map((name) => [name, row[name]])))
    return rebuild(row.id, row.version, person)
  }

  async function recordOf(kept: Kept, person: Person): Promise<Stored> {
    const record = await findRecord(kept, person)
    if (record) return record
    const row = kept.rows.at(-1)?.[0] as Stored
    throw new Failure(
      'KEY_REUSED',
      `This request was carried out, but what it was answered is not kept any more. Read ${model.name} ${row.id}.`,
      { data: [stubOf(row)] },
    )
  }

  return { mayRead, asSeenBy, written, merged, replay }
}

const stubOf = ({ id, version }: Stored): Stored => ({ id, version })
