import { undoLatest } from '../basics/undo.ts'
import { say } from '../language/say.ts'
import { plural } from '../logic/values.ts'
import { notify, notifyError } from './notices.ts'

/** Takes back the last change of this window, and tells it. */
export function undoLastChange(): void {
  undoLatest()
    .then(({ count, name }) =>
      notify(
        count === 0
          ? say('There is nothing to take back.')
          : name !== undefined
            ? say('Taken back: {record}.', { record: name })
            : plural(count, '{count} record taken back.', '{count} records taken back.'),
      ),
    )
    .catch(notifyError)
}
