import { Failure } from '../../errors.ts'
import type { StoredResult } from '../../journal/idempotency.ts'
import { reachesOwned, scopeFor, type User } from '../../model/access.ts'
import { type Model, visibleColumns } from '../../model/model.ts'
import type { Row } from '../../storage/storage.ts'
import { createRowDecoder } from '../../tables/columns.ts'
import type { StoredRecord } from '../context.ts'
import { mergedFields } from './merge.ts'
import { isReachAnswer, isWrittenReadable } from './units.ts'

/** The answer to a merge: the record, and the fields that other requests had changed since. */
export interface MergeResult {
  record: StoredRecord
  merged: string[]
}

interface Dependencies {
  /** Rebuilds a record at a version; undefined if the journal does not keep it. */
  rebuild(id: number, version: number, user: User): Promise<StoredRecord | undefined>
  /** Whether the user may read the record now, or could read it when it was deleted. */
  mayRead(id: number, user: User): Promise<boolean>
}

/** Builds the answer to a write from the rows of its unit, or from the stored result of an idempotency key. */
export function createAnswers(model: Model, { rebuild, mayRead }: Dependencies) {
  const decode = createRowDecoder(model) as (row: Row) => StoredRecord
  const visibleNames = visibleColumns(model)

  /** Whether the user may read what was just written. Rules of rows were checked with it. */
  const mayReadWritten = (rows: Row[][], record: StoredRecord, user: User): boolean =>
    isWrittenReadable(rows) ?? reachesOwned(scopeFor(model, 'read', user), user, record.createdBy)

  const recordIn = (rows: Row[][]) => decode(rowIn(rows))

  /** The whole record if the user may read it, otherwise a stub of its id and version. */
  function answerWritten(rows: Row[][], user: User): StoredRecord {
    const record = recordIn(rows)
    return mayReadWritten(rows, record, user) ? record : toStub(record)
  }

  /** The first step returns the fields that other requests had changed. */
  function answerMerged(rows: Row[][], user: User): MergeResult {
    const record = recordIn(rows)
    return mayReadWritten(rows, record, user)
      ? { record, merged: mergedIn(rows) }
      : { record: toStub(record), merged: [] }
  }

  const mergedIn = (rows: Row[][]) => mergedFields(model, rows[0]?.[0]?.merged as string)

  /**
   * Each function answers a repeated request from its stored result, limited to what the user may read now. Most stored
   * results contain only ids and versions, so the records are rebuilt from the journal.
   */
  const replay = {
    write: async (kept: StoredResult, user: User) => asSeenBy(user, await rebuildRecord(kept, user)),
    merge: async (kept: StoredResult, user: User): Promise<MergeResult> => {
      const record = await rebuildRecord(kept, user)
      return (await mayRead(record.id, user))
        ? { record, merged: mergedIn(kept.rows) }
        : { record: toStub(record), merged: [] }
    },
    remove: async ({ rows }: StoredResult): Promise<number> => rows.at(-1)?.[0]?.id as number,
    /** For batches: returns a stub if the version is not kept, so that the other operations can still be answered. */
    writeOrStub: async (kept: StoredResult, user: User) =>
      asSeenBy(user, (await findRecord(kept, user)) ?? toStub(rowIn(kept.rows))),
  }

  const asSeenBy = async (user: User, record: StoredRecord) =>
    (await mayRead(record.id, user)) ? record : toStub(record)

  async function findRecord({ rows, isCurrent }: StoredResult, user: User): Promise<StoredRecord | undefined> {
    const row = rowIn(rows)
    // It may have been stored when the user could read less.
    const isWhole = visibleNames.every((name) => Object.hasOwn(row, name))
    if (isWhole && isCurrent) return decode(Object.fromEntries(visibleNames.map((name) => [name, row[name]])))
    return rebuild(row.id, row.version, user)
  }

  async function rebuildRecord(kept: StoredResult, user: User): Promise<StoredRecord> {
    const record = await findRecord(kept, user)
    if (record) return record
    const row = rowIn(kept.rows)
    throw new Failure(
      'KEY_REUSED',
      `This request was carried out, but what it was answered is not kept any more. Read ${model.name} ${row.id}.`,
      { data: [toStub(row)] },
    )
  }

  return { answerWritten, answerMerged, replay }
}

/** The last step that is not a reach check returns the written row. */
const rowIn = (rows: Row[][]) => rows.findLast((one) => !isReachAnswer(one))?.[0] as StoredRecord

const toStub = ({ id, version }: StoredRecord): StoredRecord => ({ id, version })
