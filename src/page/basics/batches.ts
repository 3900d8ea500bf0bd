import { say } from '../language/say.ts'
import { inGroups } from '../logic/in-groups.ts'
import type { Row } from '../logic/model.ts'
import { DossierError, request } from './api.ts'
import { recordPath } from './models.ts'

/** An operation of a batch. */
export type Operation = { update: string; data: object } | { delete: string; id: number; version?: number }

/** The result for a row: its record now, or only its id if it was deleted; or the error, if nothing was done. */
export type BatchResult = { row: Row; result: unknown } | { row: Row; error: Error }

/** Rows in one batch. Others are served between two batches. */
const GROUP_SIZE = 200

/**
 * Writes one operation for each row, in batches. A batch is refused as a whole because of a single row: that row is
 * taken out, and the others are sent again.
 */
export async function* writeInBatches(
  rows: Row[],
  toOperation: (row: Row) => Operation,
): AsyncGenerator<BatchResult[]> {
  for (const group of inGroups(rows, GROUP_SIZE)) {
    let left = group
    while (left.length > 0) {
      const { results, refused } = await writeBatch(left, toOperation)
      yield results
      left = refused ? left.filter((row) => row !== refused) : []
    }
  }
}

async function writeBatch(rows: Row[], toOperation: (row: Row) => Operation) {
  try {
    const { data } = await request('POST', '/ws/batch', { body: { data: rows.map(toOperation) } })
    return { results: rows.map((row, index): BatchResult => ({ row, result: data[index] })) }
  } catch (error) {
    const refused = error instanceof DossierError && error.at !== undefined ? rows[error.at] : undefined
    if (refused) return { results: [{ row: refused, error: error as Error }], refused }
    return { results: rows.map((row): BatchResult => ({ row, error: error as Error })) }
  }
}

interface Entry {
  change: number
  version: number
  operation: string
}

/**
 * Undoes the last change of a record, with all that was changed together with it. `version` is what the record had
 * afterwards, or when it was deleted: if it has another one, somebody else has changed it since.
 */
export async function undoLastOfRecord(
  model: string,
  id: number,
  version: number,
  isDeleted: boolean,
): Promise<{ model: string; id: number }[]> {
  const { data } = await request<Entry>('GET', `${recordPath(model, id, 'history')}?limit=1`)
  const [last] = data
  if (last?.version !== version || (last.operation === 'delete') !== isDeleted)
    throw new Error(say('Somebody else has changed it meanwhile.'))
  const path = `/ws/changes/${last.change}/undo`
  return (await request<{ model: string; id: number }>('POST', path, { body: { data: {} } })).data
}
