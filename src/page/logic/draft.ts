import { say } from '../language/say.ts'
import { linksChange } from './links-change.ts'
import { displayName, type Field, hasLinks, isStamp, type Model, type Row } from './model.ts'
import { fits, isUnchanged, type Raw, readRaw, toRaw } from './raw.ts'

/** Unsaved input of a form. */
export interface Draft {
  /** record as it was when editing began; undefined for a new one */
  base?: Row | undefined
  /** inputs that the user has touched, by field */
  typed: Record<string, Raw>
  /** time zone in which times were typed, which may differ from the page's current zone */
  zone: string
  /** unsaved input for records that refer to this one, by inverse field */
  children?: Record<string, ChildDrafts>
  /** idempotency key of a new record, so that a retry creates no second one */
  key?: string | undefined
}

/** Unsaved input for a record that refers to the edited one. */
export interface ChildDraft {
  typed: Record<string, Raw>
  isDeleted?: boolean
}

/** Unsaved input by row: the id of a record, or `new` and a number. */
export type ChildDrafts = Record<string, ChildDraft>

/** Content of a field's input. */
export function rawIn({ base, typed, zone }: Draft, field: Field): Raw {
  const raw = Object.hasOwn(typed, field.name) ? typed[field.name] : undefined
  return raw !== undefined && fits(field, raw) ? raw : toRaw(field, initialValue(base, field), zone)
}

/** A new record starts with the model's defaults, so that the user sees them. */
const initialValue = (base: Row | undefined, field: Field) => (base ? base[field.name] : field.default)

/** The draft after an input. A field that is changed back to its initial value counts as untouched. */
export function withInput(draft: Draft, field: Field, raw: Raw): Draft {
  const { [field.name]: _before, ...others } = draft.typed
  const isBack = isUnchanged(field, raw, initialValue(draft.base, field), draft.zone)
  return { ...draft, typed: isBack ? others : { ...others, [field.name]: raw } }
}

export const isTouched = ({ typed, children = {} }: Draft) =>
  [typed, ...Object.values(children)].some((input) => Object.keys(input).length > 0)

/** Input for fields that the model no longer has, or that have another type by now. */
export function orphanedInput({ typed }: Draft, fields: Field[]): { name: string; raw: Raw }[] {
  return Object.entries(typed)
    .map(([name, raw]) => ({ name, raw }))
    .filter(({ name, raw }) => !fields.some((field) => field.name === name && fits(field, raw)))
}

export interface FormValues {
  values: Record<string, unknown>
  /** by field */
  faults: Record<string, string>
}

/** Reads all inputs of `fields`, whether they changed or not. */
export function readAll(draft: Draft, fields: Field[]): FormValues {
  const sent: FormValues = { values: {}, faults: {} }
  for (const field of fields) {
    const schema = { ...field, isRequired: field.required }
    const read = readRaw(schema, rawIn(draft, field), draft.zone, initialValue(draft.base, field))
    if ('fault' in read) sent.faults[field.name] = read.fault
    else sent.values[field.name] = read.value
  }
  return sent
}

/** The values to send: the changed ones for an update, all that are set for a new record. */
export function changedValues(draft: Draft, fields: Field[]): FormValues {
  const { base, typed, zone } = draft
  const isTyped = ({ name }: Field) => Object.hasOwn(typed, name)
  if (base) {
    const isChanged = (field: Field) => !isUnchanged(field, rawIn(draft, field), base[field.name], zone)
    const changed = fields.filter((field) => isTyped(field) && isChanged(field))
    const { values, faults } = readAll(draft, changed)
    for (const field of changed.filter(hasLinks))
      if (Object.hasOwn(values, field.name))
        values[field.name] = linksChange((base[field.name] ?? []) as number[], (values[field.name] ?? []) as number[])
    return { values, faults }
  }
  const { values, faults } = readAll(draft, fields)
  // A default that the user has cleared is sent as null.
  const isSent = (field: Field) => isTyped(field) || values[field.name] !== null
  const sent = fields.filter((field) => Object.hasOwn(values, field.name) && isSent(field))
  return { values: Object.fromEntries(sent.map(({ name }) => [name, values[name]])), faults }
}

/** Assigns the service's faults to fields; a fault inside an array or object belongs to its field. */
export function faultsByField(errors: Record<string, string>, fields: Field[]) {
  const own: Record<string, string> = {}
  const others: string[] = []
  for (const [path, message] of Object.entries(errors)) {
    const [name] = path.split(/[./[]/) as [string]
    const field = fields.find((one) => one.name === name)
    const rest = path.slice(name.length).replace(/^[./]/, '')
    const inside = rest === '' ? '' : `${titleIn(field, rest)} `
    if (field) own[name] = [own[name], inside + message].filter(Boolean).join('; ')
    else others.push(`${path} ${message}`)
  }
  return { own, others }
}

const titleIn = (field: Field | undefined, part: string) =>
  Object.entries(field?.properties ?? {}).find(([name]) => name === part)?.[1].title ?? part

/** Adds the values that another window has stored for the same form since this one stored it under `key`. */
export function withOtherWindow(
  { typed, base }: Draft,
  key: string | undefined,
  stored: Draft | undefined,
): Draft['typed'] {
  const isOther = stored !== undefined && stored.key !== key && stored.base?.version === base?.version
  return isOther ? { ...stored.typed, ...typed } : typed
}

/** The title of a draft: the record's name, or the name of a new one as far as it was typed. */
export function draftTitle({ base, typed }: Draft, model: Model): string {
  if (base) return displayName(base, model)
  const name = typed[model.nameField ?? '']
  return typeof name === 'string' && name !== '' ? name : say('New {model}', { model: model.title })
}

/** Starts a new record from the input of a draft. */
export const asNew = (draft: Draft, model: Model): Draft => ({
  zone: draft.zone,
  typed: Object.fromEntries(
    model.fields
      .filter((field) => !field.readOnly && !isStamp(field))
      .map((field): [string, Raw] => [field.name, rawIn(draft, field)]),
  ),
})
