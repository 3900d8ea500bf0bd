import type { Draft } from '../logic/draft.ts'
import type { Model } from '../logic/model.ts'
import { parsed } from './parsed.ts'
import { DRAFTS, person } from './session.ts'

/** Unsaved input, kept in the sessionStorage of this window per user, so that it survives a reload. */

const draftKey = (model: string, id: string) => `${DRAFTS}${person.value?.username}/${model}/${id}`

export function keptDraft(model: string, id: string): Draft | undefined {
  return parsed<Draft>(sessionStorage.getItem(draftKey(model, id)))
}

/** Stores a draft without its secrets. Returns whether the browser accepted it: its storage is limited. */
export function keepDraft(model: Model, id: string, { typed, ...draft }: Draft): boolean {
  const isSecret = (name: string) => model.fields.some((field) => field.name === name && field.writeOnly)
  const open = Object.fromEntries(Object.entries(typed).filter(([name]) => !isSecret(name)))
  try {
    if (Object.keys(open).length === 0) forgetDraft(model.model, id)
    else sessionStorage.setItem(draftKey(model.model, id), JSON.stringify({ ...draft, typed: open }))
    return true
  } catch {
    // An earlier draft would be mistaken for this one.
    forgetDraft(model.model, id)
    return false
  }
}

export const forgetDraft = (model: string, id: string): void => sessionStorage.removeItem(draftKey(model, id))
