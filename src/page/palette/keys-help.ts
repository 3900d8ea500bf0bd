import { h } from 'preact'
import { html } from '../basics/html.ts'
import { activeKeys } from '../basics/keys.ts'
import { Dialog } from '../parts/dialog.ts'

const IN_TABLES = [
  { keys: '↑ ↓ PgUp PgDn Home End', does: 'move in the table' },
  { keys: 'Enter', does: 'open the record' },
  { keys: 'Space', does: 'select it; with Shift, up to it' },
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
