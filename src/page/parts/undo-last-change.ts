import { undoLastOfWindow } from '../basics/undo.ts'
import { say } from '../language/say.ts'
import { plural } from '../logic/values.ts'
import { notify, notifyError } from './notices.ts'

/** Undoes the last change of this window, and tells it. */
export function undoLastChange(): void {
  undoLastOfWindow()
    .then(({ count, name }) =>
      notify(
        count === 0
          ? say('There is nothing to undo.')
          : name !== undefined
            ? say('Undone: {record}.', { record: name })
            : plural(count, '{count} record undone.', '{count} records undone.'),
      ),
    )
    .catch(notifyError)
}
