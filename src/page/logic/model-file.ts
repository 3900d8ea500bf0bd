import { say } from '../language/say.ts'

/** Files of models as people edit them. */

export type FieldSchema = { [keyword: string]: unknown }

export interface ModelSchema {
  [keyword: string]: unknown
  properties: Record<string, FieldSchema>
  required?: string[]
}

/** Words for the types of fields. `base` is the type's schema in the file. */
export const KINDS = {
  text: { title: say('Text'), base: { type: 'string' } },
  choice: { title: say('Choice of one'), base: { type: 'string', enum: ['open', 'done'] } },
  integer: { title: say('Whole number'), base: { type: 'integer' } },
  decimal: { title: say('Amount, exact to the last digit'), base: { type: 'string', format: 'decimal' } },
  number: { title: say('Number with a fraction'), base: { type: 'number' } },
  boolean: { title: say('Yes or no'), base: { type: 'boolean' } },
  date: { title: say('Day'), base: { type: 'string', format: 'date' } },
  'date-time': { title: say('Day and time'), base: { type: 'string', format: 'date-time' } },
  time: { title: say('Time of day'), base: { type: 'string', format: 'time' } },
  email: { title: say('E-mail address'), base: { type: 'string', format: 'email' } },
  uri: { title: say('Web address'), base: { type: 'string', format: 'uri' } },
  uuid: { title: say('UUID'), base: { type: 'string', format: 'uuid' } },
  reference: { title: say('One record of a model'), base: { type: 'integer', reference: '' } },
  references: {
    title: say('Several records of a model'),
    base: { type: 'array', items: { type: 'integer', reference: '' } },
  },
  inverse: { title: say('Records that refer to this one'), base: { inverse: '' } },
  list: { title: say('List of texts'), base: { type: 'array', items: { type: 'string' } } },
  choices: {
    title: say('Choice of several'),
    base: { type: 'array', items: { type: 'string', enum: ['open', 'done'] }, uniqueItems: true },
  },
  other: { title: say('Anything else, as JSON'), base: { type: 'object' } },
} as const satisfies Record<string, { title: string; base: FieldSchema }>

export type FieldKind = keyof typeof KINDS

const FORMATS: FieldKind[] = ['decimal', 'date', 'date-time', 'time', 'email', 'uri', 'uuid']

export function fieldKind(field: FieldSchema): FieldKind {
  const { type, format, enum: choices, reference, inverse, const: only } = field
  if (inverse !== undefined) return 'inverse'
  if (reference !== undefined) return 'reference'
  if (type === 'array') return listKind((field.items ?? {}) as FieldSchema)
  if (only !== undefined || (choices !== undefined && type !== 'string')) return 'other'
  if (choices !== undefined) return 'choice'
  if (type === 'string' && format !== undefined) return FORMATS.find((kind) => kind === format) ?? 'other'
  if (type === 'string') return 'text'
  return type === 'integer' || type === 'number' || type === 'boolean' ? type : 'other'
}

function listKind(items: FieldSchema): FieldKind {
  if (items.reference !== undefined) return 'references'
  const names = Object.keys(items).sort().join()
  if (items.type !== 'string' || !['type', 'enum,type', 'maxLength,type'].includes(names)) return 'other'
  return items.enum === undefined ? 'list' : 'choices'
}

/** Keywords that mean the same for every kind of field that is stored. */
const LASTING = ['title', 'description', 'access', 'renamedFrom', 'readOnly', 'writeOnly', 'unique', 'index']

/** The field as another kind. What it says for people and who may use it stays. */
export function withKind(field: FieldSchema, kind: FieldKind): FieldSchema {
  const kept = kind === 'inverse' ? ['title', 'description'] : LASTING
  return { ...KINDS[kind].base, ...Object.fromEntries(Object.entries(field).filter(([name]) => kept.includes(name))) }
}

/** The value at a path such as `items.reference`. */
export const valueAt = (schema: FieldSchema, path: string): unknown =>
  path.split('.').reduce<unknown>((value, name) => (value as FieldSchema | undefined)?.[name], schema)

/** A copy of the field with another value at a path; undefined removes the keyword. */
export function withValueAt(schema: FieldSchema, path: string, value: unknown): FieldSchema {
  const [first = '', ...rest] = path.split('.')
  const inner = rest.length === 0 ? value : withValueAt((schema[first] ?? {}) as FieldSchema, rest.join('.'), value)
  if (inner !== undefined) return { ...schema, [first]: inner }
  return Object.fromEntries(Object.entries(schema).filter(([name]) => name !== first))
}

/** A copy of the model with another schema of a field. */
export const withField = (model: ModelSchema, name: string, field: FieldSchema): ModelSchema => ({
  ...model,
  properties: { ...model.properties, [name]: field },
})

export function withRequired(model: ModelSchema, name: string, isRequired: boolean): ModelSchema {
  const others = (model.required ?? []).filter((one) => one !== name)
  return withoutEmpty({ ...model, required: isRequired ? [...others, name] : others }, 'required')
}

/** Lists of field names in a model, by keyword. */
const LISTS = ['required', 'list', 'search']
const COMBINATIONS = ['unique', 'indexes']

/** Without a field, and without what names it. */
export function withoutField(model: ModelSchema, name: string): ModelSchema {
  const { [name]: _, ...properties } = model.properties
  const lists = LISTS.filter((keyword) => Array.isArray(model[keyword])).map((keyword) => [
    keyword,
    (model[keyword] as string[]).filter((one) => one !== name),
  ])
  const combinations = COMBINATIONS.filter((keyword) => Array.isArray(model[keyword])).map((keyword) => [
    keyword,
    (model[keyword] as string[][]).filter((names) => !names.includes(name)),
  ])
  const next: ModelSchema = { ...model, ...Object.fromEntries([...lists, ...combinations]), properties }
  const named = next.nameField === name ? (withValueAt(next, 'nameField', undefined) as ModelSchema) : next
  return [...LISTS, ...COMBINATIONS].reduce(withoutEmpty, named)
}

const withoutEmpty = (model: ModelSchema, keyword: string): ModelSchema =>
  Array.isArray(model[keyword]) && (model[keyword] as unknown[]).length === 0
    ? (withValueAt(model, keyword, undefined) as ModelSchema)
    : model

/**
 * With another name for a field, wherever it is named. If the file that is served has the field, the new one takes over
 * its values.
 */
export function withRenamed(
  model: ModelSchema,
  from: string,
  to: string,
  served: ModelSchema | undefined,
): ModelSchema {
  const renamed = (name: unknown) => (name === from ? to : name)
  const isStored = (field: FieldSchema) => field.inverse === undefined && field.computed === undefined
  const properties = Object.entries(model.properties).map(([name, field]): [string, FieldSchema] => {
    const computed = typeof field.computed === 'string' && field.computed.replaceAll(`{${from}}`, `{${to}}`)
    const own = computed ? { ...field, computed } : field
    if (name !== from) return [name, own]
    const before = served?.properties[from]
    const isKnown = before !== undefined && isStored(before) && isStored(field)
    // Back to the name that it has: nothing is renamed.
    const isBack = served?.properties[to] !== undefined && field.renamedFrom === to
    if (isBack) return [to, withValueAt(own, 'renamedFrom', undefined)]
    return [to, isKnown ? { ...own, renamedFrom: from } : own]
  })
  const lists = LISTS.filter((keyword) => Array.isArray(model[keyword])).map((keyword) => [
    keyword,
    (model[keyword] as unknown[]).map(renamed),
  ])
  const combinations = COMBINATIONS.filter((keyword) => Array.isArray(model[keyword])).map((keyword) => [
    keyword,
    (model[keyword] as unknown[][]).map((names) => names.map(renamed)),
  ])
  return {
    ...model,
    ...(model.nameField === from && { nameField: to }),
    ...Object.fromEntries([...lists, ...combinations]),
    properties: Object.fromEntries(properties),
  }
}

/**
 * An earlier file, so that fields that were renamed since take their values back: the file that is served says what
 * they were called before.
 */
export function withRenamesBack(earlier: ModelSchema, served: ModelSchema | undefined): ModelSchema {
  const renamed = Object.entries(served?.properties ?? {}).flatMap(([name, { renamedFrom: before }]) =>
    typeof before === 'string' && earlier.properties[before] && !earlier.properties[name]
      ? [[before, name] as const]
      : [],
  )
  const back = renamed.map(([before, name]) => [before, { ...earlier.properties[before], renamedFrom: name }])
  return { ...earlier, properties: { ...earlier.properties, ...Object.fromEntries(back) } }
}

/** With a field one place further up or down. */
export function withMoved(model: ModelSchema, name: string, by: -1 | 1): ModelSchema {
  const entries = Object.entries(model.properties)
  const at = entries.findIndex(([one]) => one === name)
  const other = at + by
  if (other < 0 || other >= entries.length) return model
  const moved = entries
    .with(at, entries[other] as [string, FieldSchema])
    .with(other, entries[at] as [string, FieldSchema])
  return { ...model, properties: Object.fromEntries(moved) }
}

/** A name for a new field that no other one has: `field`, `field2`, … */
export function freeName(taken: string[], wanted: string): string {
  const isTaken = (name: string) => taken.some((one) => one.toLowerCase() === name.toLowerCase())
  let name = wanted
  for (let nth = 2; isTaken(name); nth++) name = `${wanted}${nth}`
  return name
}

const LETTERS: Record<string, string> = { ä: 'ae', ö: 'oe', ü: 'ue', ß: 'ss', æ: 'ae', ø: 'o', å: 'a', ł: 'l', đ: 'd' }

/** A name for a field or model from what people write: `Postal code` → `postalCode`. Empty if nothing is left. */
export function nameFrom(text: string): string {
  const plain = text
    .toLowerCase()
    .replace(/[äöüßæøåłđ]/g, (letter) => LETTERS[letter] as string)
    .normalize('NFD')
    .replace(/\p{M}/gu, '')
  const words = plain.split(/[^a-z\d]+/).filter(Boolean)
  const name = words.map((word, at) => (at === 0 ? word : word.charAt(0).toUpperCase() + word.slice(1))).join('')
  return name.replace(/^\d+/, '').slice(0, 60)
}

/** A new model, with a name that people give it. */
export const newModel = (title: string): ModelSchema => ({
  title,
  type: 'object',
  properties: { name: { type: 'string', title: say('Name'), maxLength: 200 } },
  required: ['name'],
  nameField: 'name',
})

/** Names for new models. The service also accepts `_` between letters, which the page does not propose. */
export const MODEL_NAME = /^(?:[A-Za-z][A-Za-z0-9]*\.)+[A-Z][A-Za-z0-9]*$/
