import { undoLastOfRecord } from '../basics/batches.ts'
import { restore } from '../basics/models.ts'
import { say } from '../language/say.ts'
import type { Model, Row } from '../logic/model.ts'
import { notify, notifyError } from '../parts/notices.ts'

/** An entry of a record's history. */
export interface Entry {
  change: number
  version: number
  operation: string
  by: string | null
  at: string
  changes: Record<string, { from?: unknown; to?: unknown }>
}

/** Brings back a version, with the way back from there. */
export async function bringBack(model: Model, record: Row, to: number): Promise<void> {
  try {
    const now = await restore(model.model, record.id, { version: record.version, to })
    const undo = () => {
      undoLastOfRecord(model.model, record.id, now.version, false).then(
        () => notify(say('It is as it was before.')),
        notifyError,
      )
    }
    notify(say('It is as it was at version {version}.', { version: to }), { label: say('Undo'), run: undo })
  } catch (error) {
    notifyError(error)
  }
}
