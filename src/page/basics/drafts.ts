import { type Draft, isTouched } from '../logic/draft.ts'
import type { Model } from '../logic/model.ts'
import { parsed } from './parsed.ts'
import { DRAFTS, person } from './session.ts'

/** Unsaved input, kept in the sessionStorage of this window per user, so that it survives a reload. */

const draftKey = (model: string, id: string) => `${DRAFTS}${person.value?.username}/${model}/${id}`

export function loadDraft(model: string, id: string): Draft | undefined {
  return parsed<Draft>(sessionStorage.getItem(draftKey(model, id)))
}

/** Stores a draft without its secrets. Returns whether the browser accepted it: its storage is limited. */
export function storeDraft(model: Model, id: string, { typed, ...draft }: Draft): boolean {
  const isSecret = (name: string) => model.fields.some((field) => field.name === name && field.writeOnly)
  const open = Object.fromEntries(Object.entries(typed).filter(([name]) => !isSecret(name)))
  try {
    if (!isTouched({ ...draft, typed: open })) deleteDraft(model.model, id)
    else sessionStorage.setItem(draftKey(model.model, id), JSON.stringify({ ...draft, typed: open }))
    return true
  } catch {
    // An earlier draft would be mistaken for this one.
    deleteDraft(model.model, id)
    return false
  }
}

export const deleteDraft = (model: string, id: string): void => sessionStorage.removeItem(draftKey(model, id))
