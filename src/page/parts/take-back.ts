import { undoLatest } from '../basics/undo.ts'
import { plural } from '../logic/values.ts'
import { notify, notifyError } from './notices.ts'

/** Takes back the last change of this window, and tells it. */
export function takeBack(): void {
  undoLatest()
    .then((count) => notify(count === 0 ? 'There is nothing to take back.' : `${plural(count, 'record')} taken back.`))
    .catch(notifyError)
}
