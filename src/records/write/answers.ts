import { Failure } from '../../errors.ts'
import type { StoredResult } from '../../journal/idempotency.ts'
import { reaches, reachFor, type User } from '../../model/access.ts'
import { type Model, visibleFields } from '../../model/model.ts'
import type { Row } from '../../storage/storage.ts'
import { rowDecoder } from '../../tables/columns.ts'
import type { Stored } from '../context.ts'
import { mergedFields } from './merge.ts'

/** What is answered to a change on top of others'. */
export interface Merged {
  record: Stored
  merged: string[]
}

/** A record as it was at a version; undefined if that is not kept. */
type Rebuild = (id: number, version: number, user: User) => Promise<Stored | undefined>

/** What is answered to who has written a record: from the rows of the unit, or from what was kept of an earlier one. */
export function createAnswers(model: Model, rebuild: Rebuild) {
  const decode = rowDecoder(model) as (row: Row) => Stored
  const shown = ['id', 'version', ...visibleFields(model).map(({ name }) => name)]

  const mayRead = (user: User, record: Stored) => reaches(reachFor(model, 'read', user), record)

  /** Who may write a record but not read it learns only that it was written. */
  const asSeenBy = (user: User, record: Stored) => (mayRead(user, record) ? record : toStub(record))

  /** The last step is what writes. */
  const written = (rows: Row[][], user: User) => asSeenBy(user, decode(rows.at(-1)?.[0] as Row))

  /** The step before tells what others had changed. */
  function merged(rows: Row[][], user: User): Merged {
    const record = decode(rows.at(-1)?.[0] as Row)
    return { record: asSeenBy(user, record), merged: mergedIn(rows, record, user) }
  }

  const mergedIn = (rows: Row[][], record: Stored, user: User) =>
    mayRead(user, record) ? mergedFields(model, rows[0]?.[0]?.merged as string) : []

  /** The same once more, as far as it may still be seen. Of a key most often only ids and versions are kept. */
  const replay = {
    written: async (kept: StoredResult, user: User) => asSeenBy(user, await rebuildRecord(kept, user)),
    merged: async (kept: StoredResult, user: User): Promise<Merged> => {
      const record = await rebuildRecord(kept, user)
      return { record: asSeenBy(user, record), merged: mergedIn(kept.rows, record, user) }
    },
    removed: async ({ rows }: StoredResult): Promise<number> => rows.at(-1)?.[0]?.id as number,
    /** among others, which are answered in any case: where it is not kept, its id and version */
    writtenOrStub: async (kept: StoredResult, user: User) =>
      asSeenBy(user, (await findRecord(kept, user)) ?? toStub(kept.rows.at(-1)?.[0] as Stored)),
  }

  async function findRecord({ rows, isCurrent }: StoredResult, user: User): Promise<Stored | undefined> {
    const row = rows.at(-1)?.[0] as Stored
    const isWhole = Object.keys(row).length > 2
    if (isWhole && isCurrent) return decode(Object.fromEntries(shown.map((name) => [name, row[name]])))
    return rebuild(row.id, row.version, user)
  }

  async function rebuildRecord(kept: StoredResult, user: User): Promise<Stored> {
    const record = await findRecord(kept, user)
    if (record) return record
    const row = kept.rows.at(-1)?.[0] as Stored
    throw new Failure(
      'KEY_REUSED',
      `This request was carried out, but what it was answered is not kept any more. Read ${model.name} ${row.id}.`,
      { data: [toStub(row)] },
    )
  }

  return { mayRead, asSeenBy, written, merged, replay }
}

const toStub = ({ id, version }: Stored): Stored => ({ id, version })
