import { type Field, isStamp, type Model, type Row } from './model.ts'
import { fits, isUnchanged, type Raw, readRaw, toRaw } from './raw.ts'

/** What somebody has typed into a form and not saved yet. */
export interface Draft {
  /** the record as it was when they began; nothing for a new one */
  base?: Row | undefined
  /** only what they have touched */
  typed: Record<string, Raw>
  /** the zone that times were typed in, whatever the page is in by now */
  zone: string
  /** under which a new record is sent: again, it is the same one */
  key?: string | undefined
}

/** What stands in the input of a field. */
export function rawIn({ base, typed, zone }: Draft, field: Field): Raw {
  const raw = Object.hasOwn(typed, field.name) ? typed[field.name] : undefined
  return raw !== undefined && fits(field, raw) ? raw : toRaw(field, initialValue(base, field), zone)
}

/** A new record begins with the model's defaults, so that one sees them. */
const initialValue = (base: Row | undefined, field: Field) => (base ? base[field.name] : field.default)

/** What is typed back to what it was counts as untouched. */
export function typing(draft: Draft, field: Field, raw: Raw): Draft {
  const { [field.name]: _before, ...others } = draft.typed
  const isBack = isUnchanged(field, raw, initialValue(draft.base, field), draft.zone)
  return { ...draft, typed: isBack ? others : { ...others, [field.name]: raw } }
}

export const isTouched = ({ typed }: Draft) => Object.keys(typed).length > 0

/** What was typed into fields that are gone, or have become something else, since. */
export function leftOver({ typed }: Draft, fields: Field[]): { name: string; raw: Raw }[] {
  return Object.entries(typed)
    .map(([name, raw]) => ({ name, raw }))
    .filter(({ name, raw }) => !fields.some((field) => field.name === name && fits(field, raw)))
}

export interface Sent {
  values: Record<string, unknown>
  /** by field */
  faults: Record<string, string>
}

/** What some inputs say, whatever it was before. */
export function readAll(draft: Draft, fields: Field[]): Sent {
  const sent: Sent = { values: {}, faults: {} }
  for (const field of fields) {
    const schema = { ...field, isRequired: field.required }
    const read = readRaw(schema, rawIn(draft, field), draft.zone, initialValue(draft.base, field))
    if ('fault' in read) sent.faults[field.name] = read.fault
    else sent.values[field.name] = read.value
  }
  return sent
}

/** What is to be sent: of a change what was touched, of a new record all that is set. */
export function changedValues(draft: Draft, fields: Field[]): Sent {
  const { base, typed, zone } = draft
  const isTyped = ({ name }: Field) => Object.hasOwn(typed, name)
  if (base) {
    const isChanged = (field: Field) => !isUnchanged(field, rawIn(draft, field), base[field.name], zone)
    return readAll(
      draft,
      fields.filter((field) => isTyped(field) && isChanged(field)),
    )
  }
  const { values, faults } = readAll(draft, fields)
  // A default that somebody has taken away is not wanted.
  const isSent = (field: Field) => isTyped(field) || values[field.name] !== null
  const sent = fields.filter((field) => Object.hasOwn(values, field.name) && isSent(field))
  return { values: Object.fromEntries(sent.map(({ name }) => [name, values[name]])), faults }
}

/** Faults by field, as the service names them: what is inside a field belongs to it. */
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

/** What somebody typed, as the beginning of another record. */
export const asNew = (draft: Draft, model: Model): Draft => ({
  zone: draft.zone,
  typed: Object.fromEntries(
    model.fields
      .filter((field) => !field.readOnly && !isStamp(field))
      .map((field): [string, Raw] => [field.name, rawIn(draft, field)]),
  ),
})
