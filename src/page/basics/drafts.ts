import type { Draft } from '../logic/draft.ts'
import type { Model } from '../logic/model.ts'
import { person } from './session.ts'

/** What was typed survives a reload, in this window, for this person. */

const keyOf = (model: string, id: string) => `dossier/${person.value?.username}/${model}/${id}`

export function keptDraft(model: string, id: string): Draft | undefined {
  const text = sessionStorage.getItem(keyOf(model, id))
  return text === null ? undefined : JSON.parse(text)
}

/** Secrets are not written down. */
export function keepDraft(model: Model, id: string, { base, typed }: Draft): void {
  const isSecret = (name: string) => model.fields.some((field) => field.name === name && field.writeOnly)
  const open = Object.fromEntries(Object.entries(typed).filter(([name]) => !isSecret(name)))
  try {
    if (Object.keys(open).length === 0) forgetDraft(model.model, id)
    else sessionStorage.setItem(keyOf(model.model, id), JSON.stringify({ base, typed: open }))
  } catch {
    // There is a limit to what a browser keeps; what stands in the form is still there.
  }
}

export const forgetDraft = (model: string, id: string): void => sessionStorage.removeItem(keyOf(model, id))

/** Whoever logs out leaves nothing behind. */
export function forgetAllDrafts(): void {
  for (const key of Object.keys(sessionStorage)) if (key.startsWith('dossier/')) sessionStorage.removeItem(key)
}
