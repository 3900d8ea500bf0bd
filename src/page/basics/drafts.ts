import { signal } from '@preact/signals'
import { type Draft, draftTitle, isTouched } from '../logic/draft.ts'
import type { Model } from '../logic/model.ts'
import { to, withQuery } from './address.ts'
import { parsed } from './parsed.ts'
import { KEPT, person } from './session.ts'

/** Unsaved input, kept in this browser per user until it is saved, discarded, or the user logs out. */

/** Identifies a draft: a record, or a new one with the values from its address. */
export interface DraftAddress {
  model: string
  /** `new` and the query of the address, or the id of a record */
  id: string
}

/** A draft in a list. */
export interface KeptDraft extends DraftAddress {
  /** name of the record */
  title: string
  /** number of touched inputs */
  fields: number
  /** milliseconds since 1970 */
  at: number
}

interface Stored extends Draft {
  title: string
  at: number
}

/** Increases when a draft was stored or deleted, here or in another window. */
const draftsRevision = signal(0)

/** Where a draft of a new record is kept: by what its address says, so that two orders have different new lines. */
export const newDraftId = (asked = '') => (asked === '' ? 'new' : `new?${asked}`)

const prefix = () => `${KEPT}draft/${person.value?.username}/`
const draftKey = (model: string, id: string) => `${prefix()}${model}/${id}`

addEventListener('storage', ({ key }) => {
  if (key === null || key.startsWith(KEPT)) draftsRevision.value++
})

export function loadDraft(model: string, id: string): Draft | undefined {
  const stored = parsed<Stored>(localStorage.getItem(draftKey(model, id)))
  if (!stored?.typed) return undefined
  const { title: _title, at: _at, ...draft } = stored
  return draft
}

/** Stores a draft without its secrets. Returns whether the browser accepted it: its storage is limited. */
export function storeDraft(model: Model, id: string, { typed, ...draft }: Draft): boolean {
  const isSecret = (name: string) => model.fields.some((field) => field.name === name && field.writeOnly)
  const open = Object.fromEntries(Object.entries(typed).filter(([name]) => !isSecret(name)))
  try {
    if (!isTouched({ ...draft, typed: open })) deleteDraft(model.model, id)
    else {
      const title = draftTitle({ ...draft, typed: open }, model)
      const stored: Stored = { ...draft, typed: open, title, at: Date.now() }
      localStorage.setItem(draftKey(model.model, id), JSON.stringify(stored))
      draftsRevision.value++
    }
    return true
  } catch {
    // An earlier draft would be mistaken for this one.
    deleteDraft(model.model, id)
    return false
  }
}

export function deleteDraft(model: string, id: string): void {
  localStorage.removeItem(draftKey(model, id))
  draftsRevision.value++
}

/** All drafts of the user, or those of one model; the latest first. */
export function keptDrafts(model?: string): KeptDraft[] {
  draftsRevision.value
  return Object.keys(localStorage)
    .filter((key) => key.startsWith(prefix()))
    .flatMap((key): KeptDraft[] => {
      const [of = '', ...id] = key.slice(prefix().length).split('/')
      const stored = parsed<Stored>(localStorage.getItem(key))
      if (!stored?.typed || (model !== undefined && of !== model)) return []
      const { typed, children = {}, title, at } = stored
      const fields = [typed, ...Object.values(children)].reduce((sum, input) => sum + Object.keys(input).length, 0)
      return [{ model: of, id: id.join('/'), title, fields, at }]
    })
    .sort((one, other) => other.at - one.at)
}

/** Where a draft can be gone on with. */
export function draftHref({ model, id }: DraftAddress): string {
  const [first = '', query = ''] = id.split(/\?(.*)/s)
  return first === 'new' ? withQuery(to('m', model, 'new'), new URLSearchParams(query)) : to('m', model, id, 'edit')
}
