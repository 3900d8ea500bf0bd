import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { html } from '../basics/html.ts'
import { complain } from './notices.ts'

interface ActionProperties {
  run(): Promise<unknown>
  class?: string
  children?: ComponentChildren
}

/** A button that does something which takes a moment: once at a time, and what goes wrong is told. */
export function Action({ run, class: name, children }: ActionProperties) {
  const isBusy = useSignal(false)
  const onClick = async () => {
    if (isBusy.value) return
    isBusy.value = true
    await run().catch(complain)
    isBusy.value = false
  }
  return html.button({ type: 'button', class: name, disabled: isBusy.value, onClick }, children)
}
