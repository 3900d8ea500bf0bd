import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { html } from '../basics/html.ts'

interface ActionProperties {
  run(): Promise<unknown>
  class?: string
  children?: ComponentChildren
}

/** A button for an asynchronous action. It is disabled while the action runs, and shows errors beside itself. */
export function Action({ run, class: name, children }: ActionProperties) {
  const isBusy = useSignal(false)
  const fault = useSignal<string | undefined>(undefined)
  const onClick = async () => {
    if (isBusy.value) return
    isBusy.value = true
    fault.value = undefined
    await run().catch((error: Error) => {
      fault.value = error.message
    })
    isBusy.value = false
  }
  return html.span(
    { class: 'action' },
    html.button({ type: 'button', class: name, disabled: isBusy.value, onClick }, children),
    fault.value !== undefined && html.span({ class: 'why', role: 'alert' }, fault.value),
  )
}
