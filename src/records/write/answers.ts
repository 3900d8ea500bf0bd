import { Failure } from '../../errors.ts'
import type { StoredResult } from '../../journal/idempotency.ts'
import { reaches, reachFor, type User } from '../../model/access.ts'
import { type Model, visibleFields } from '../../model/model.ts'
import type { Row } from '../../storage/storage.ts'
import { rowDecoder } from '../../tables/columns.ts'
import type { StoredRecord } from '../context.ts'
import { mergedFields } from './merge.ts'

/** The answer to a merge: the record, and the fields that other requests had changed since. */
export interface MergeResult {
  record: StoredRecord
  merged: string[]
}

/** Rebuilds a record at a version; undefined if the journal does not keep it. */
type Rebuild = (id: number, version: number, user: User) => Promise<StoredRecord | undefined>

/** Builds the answer to a write from the rows of its unit, or from the stored result of an idempotency key. */
export function createAnswers(model: Model, rebuild: Rebuild) {
  const decode = rowDecoder(model) as (row: Row) => StoredRecord
  const shown = ['id', 'version', ...visibleFields(model).map(({ name }) => name)]

  const mayRead = (user: User, record: StoredRecord) => reaches(reachFor(model, 'read', user), record)

  /** The whole record if the user may read it, otherwise a stub of its id and version. */
  const asSeenBy = (user: User, record: StoredRecord) => (mayRead(user, record) ? record : toStub(record))

  /** The last step of the unit returns the written row. */
  const written = (rows: Row[][], user: User) => asSeenBy(user, decode(rows.at(-1)?.[0] as Row))

  /** The first step returns the fields that other requests had changed, the last step the written row. */
  function merged(rows: Row[][], user: User): MergeResult {
    const record = decode(rows.at(-1)?.[0] as Row)
    return { record: asSeenBy(user, record), merged: mergedIn(rows, record, user) }
  }

  const mergedIn = (rows: Row[][], record: StoredRecord, user: User) =>
    mayRead(user, record) ? mergedFields(model, rows[0]?.[0]?.merged as string) : []

  /**
   * Answer a repeated request from its stored result, limited to what the user may read now. Most stored results
   * contain only ids and versions, so the records are rebuilt from the journal.
   */
  const replay = {
    written: async (kept: StoredResult, user: User) => asSeenBy(user, await rebuildRecord(kept, user)),
    merged: async (kept: StoredResult, user: User): Promise<MergeResult> => {
      const record = await rebuildRecord(kept, user)
      return { record: asSeenBy(user, record), merged: mergedIn(kept.rows, record, user) }
    },
    removed: async ({ rows }: StoredResult): Promise<number> => rows.at(-1)?.[0]?.id as number,
    /** For batches: returns a stub if the version is not kept, so that the other operations can still be answered. */
    writtenOrStub: async (kept: StoredResult, user: User) =>
      asSeenBy(user, (await findRecord(kept, user)) ?? toStub(kept.rows.at(-1)?.[0] as StoredRecord)),
  }

  async function findRecord({ rows, isCurrent }: StoredResult, user: User): Promise<StoredRecord | undefined> {
    const row = rows.at(-1)?.[0] as StoredRecord
    const isWhole = Object.keys(row).length > 2
    if (isWhole && isCurrent) return decode(Object.fromEntries(shown.map((name) => [name, row[name]])))
    return rebuild(row.id, row.version, user)
  }

  async function rebuildRecord(kept: StoredResult, user: User): Promise<StoredRecord> {
    const record = await findRecord(kept, user)
    if (record) return record
    const row = kept.rows.at(-1)?.[0] as StoredRecord
    throw new Failure(
      'KEY_REUSED',
      `This request was carried out, but what it was answered is not kept any more. Read ${model.name} ${row.id}.`,
      { data: [toStub(row)] },
    )
  }

  return { mayRead, asSeenBy, written, merged, replay }
}

const toStub = ({ id, version }: StoredRecord): StoredRecord => ({ id, version })
