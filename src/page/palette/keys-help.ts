import { h } from 'preact'
import { html } from '../basics/html.ts'
import { activeKeys } from '../basics/keys.ts'
import { Dialog } from '../parts/dialog.ts'

const IN_TABLES = [
  { keys: '↑ ↓ ← → PgUp PgDn Home End', does: 'move in the table; with Shift, mark cells' },
  { keys: 'Enter, F2', does: 'edit the cell; Enter and Tab save it and move on, Esc takes it back' },
  { keys: 'Ctrl+Enter', does: 'open the record' },
  { keys: 'Space', does: 'select the row; with Shift, up to it' },
  { keys: 'Ctrl+C, Ctrl+V', does: 'copy and paste cells, also from and to a spreadsheet' },
  { keys: 'Alt+← →', does: 'in the head: move a column; on a board: move a card' },
]

/** Help on the keyboard shortcuts that are active now. */
export const Keys = ({ onClose }: { onClose(): void }) =>
  h(
    Dialog,
    { title: 'Keys', onClose },
    html.dl(
      { class: 'keys' },
      [...activeKeys(), ...IN_TABLES].map(({ keys, does }) => [
        html.dt({ key: keys }, html.kbd(null, keys)),
        html.dd(null, does),
      ]),
    ),
  )
