import { h, render } from 'preact'
import { listenToKeys } from './basics/keys.ts'
import { language } from './language/say.ts'
import { Shell } from './shell.ts'

document.documentElement.lang = language
listenToKeys()
render(h(Shell, null), document.body)
