import { h } from 'preact'
import { html } from '../basics/html.ts'
import { activeKeys } from '../basics/keys.ts'
import { say } from '../language/say.ts'
import { Dialog } from '../parts/dialog.ts'

const IN_TABLES = [
  { keys: '↑ ↓ ← → PgUp PgDn Home End', does: say('move in the table; with Shift, mark cells') },
  { keys: 'Enter, F2', does: say('edit the cell; Enter and Tab save it and move on, Esc takes it back') },
  { keys: 'Ctrl+Enter', does: say('open the record') },
  { keys: 'Space', does: say('select the row; with Shift, up to it') },
  { keys: 'Ctrl+C, Ctrl+V', does: say('copy and paste cells, also from and to a spreadsheet') },
  { keys: 'Alt+← →', does: say('in the head: move a column; on a board: move a card') },
]

/** Help on the keyboard shortcuts that are active now. */
export const Keys = ({ onClose }: { onClose(): void }) =>
  h(
    Dialog,
    { title: say('Keys'), onClose },
    html.dl(
      { class: 'keys' },
      [...activeKeys(), ...IN_TABLES].map(({ keys, does }) => [
        html.dt({ key: keys }, html.kbd(null, keys)),
        html.dd(null, does),
      ]),
    ),
  )
