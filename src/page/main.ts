import { h, render } from 'preact'
import { listenToKeys } from './basics/keys.ts'
import { Shell } from './shell.ts'

listenToKeys()
render(h(Shell, null), document.body)
