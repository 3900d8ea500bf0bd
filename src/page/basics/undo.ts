import { requestOne } from './api.ts'
import { undoLast } from './batches.ts'
import { recordPath, restore } from './models.ts'

/** A change that this window made, to be taken back. */
interface Made {
  model: string
  id: number
  /** version of the record after the change */
  version: number
}

/** More are not kept: nobody remembers them. */
const MAX_KEPT = 100

const made: Made[] = []
/** By record: a version that an undo has made, and the earlier one that it is like. */
const undone = new Map<string, { version: number; like: number }>()

const keyOf = ({ model, id }: { model: string; id: number }) => `${model} ${id}`

export function rememberChange(change: Made): void {
  made.push(change)
  made.splice(0, made.length - MAX_KEPT)
  undone.delete(keyOf(change))
}

/** Takes back the last change of this window, with all that was changed with it. Returns how many records that were. */
export async function undoLatest(): Promise<number> {
  const last = made.pop()
  if (!last) return 0
  const { model, id, version } = last
  const before = undone.get(keyOf(last))
  // An undo is a change as well: to go further back, the version before is brought back on top of it.
  if (before?.like === version) {
    const now = await restore(model, id, { version: before.version, to: version - 1 })
    undone.set(keyOf(last), { version: now.version, like: version - 1 })
    return 1
  }
  const records = await undoLast(model, id, version, false)
  const now = await requestOne<{ version: number }>('GET', `${recordPath(model, id)}?fields=id`)
  // Whoever else has changed it since then is not like anything.
  if (now.version === version + 1) undone.set(keyOf(last), { version: now.version, like: version - 1 })
  return records.length
}
