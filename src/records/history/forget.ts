import { writeIdempotent } from '../../journal/idempotency.ts'
import type { Model } from '../../model/model.ts'
import { isFault } from '../../storage/storage.ts'
import type { Caller } from '../caller.ts'
import type { RecordsContext } from '../context.ts'
import type { History } from './history.ts'

/** Changes that one unit empties; small, so that other writes do not wait. */
const PORTION = 200
const NO_LIMIT = Number.MAX_SAFE_INTEGER

const ERASE_VALUES = `
  UPDATE dossier_changes SET was = NULL, became = NULL, whole = NULL WHERE change IN (
    SELECT change FROM dossier_changes WHERE model = ? AND id = ? AND change > ? ORDER BY change LIMIT ?
  ) RETURNING change`

const INSERT_FORGET_ENTRY = `
  INSERT INTO dossier_changes (model, id, version, operation, "by", at, "createdBy", fields)
  SELECT model, id, version, 'forget', ?, ?, "createdBy", '[]' FROM dossier_changes WHERE model = ? AND id = ?
  ORDER BY change DESC LIMIT 1 RETURNING change`

/** Erases all values of a record from the journal (right to be forgotten); the entries remain, without values. */
export function createForgetter({ storage }: RecordsContext, model: Model, history: History) {
  return async function forget(id: number, caller: Caller): Promise<number> {
    if (caller.idempotency?.stored) return id
    const eraseStep = (after: number, limit = PORTION) => ({
      sql: ERASE_VALUES,
      parameters: [model.name, id, after, limit],
    })
    const erasePortion = async (after: number): Promise<number[]> => {
      const [rows = []] = await storage.write({ steps: [eraseStep(after)] })
      return rows.map(({ change }) => change as number)
    }
    let last = 0
    for (let isAll = false; !isAll; ) {
      const changes = await erasePortion(last)
      last = Math.max(last, ...changes)
      isAll = changes.length < PORTION
    }
    // Changes made since the last portion are few: they are erased in the unit that inserts the `forget` entry.
    const note = {
      sql: INSERT_FORGET_ENTRY,
      parameters: [caller.username, new Date().toISOString(), model.name, id],
      mustReturnRow: true,
    }
    try {
      await writeIdempotent(storage, { steps: [eraseStep(last, NO_LIMIT), note] }, caller.idempotency)
    } catch (error) {
      throw isFault(error, 'no-row') ? await history.notFoundFailure(id, caller) : error
    }
    return id
  }
}
