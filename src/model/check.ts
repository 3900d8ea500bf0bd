import { didYouMean } from '../lib/nearest.ts'
import { checkFieldSchema } from './check-field-schema.ts'
import { type FaultInFile, type FieldFile, isInverse, type ModelFile, storedFields } from './file.ts'
import { FIND_PARAMETERS } from './find-parameters.ts'
import { AUDIT_FIELDS, isSearchable, MAX_LINKS } from './model.ts'
import { parseTemplate, templateFields } from './template.ts'

const FIELD_NAME = /^[A-Za-z][A-Za-z0-9]*(?:_[A-Za-z0-9]+)*$/
const MAX_NAME = 64
/** Databases limit the number of columns. */
const MAX_FIELDS = 1000
/** Unknown names for which the nearest known one is looked for. */
const MAX_HINTS = 20

/** Checks what the meta-schema cannot: names, keywords that do not fit, defaults, templates, lists of fields. */
export function checkFields(file: ModelFile): FaultInFile[] {
  const names = Object.keys(file.properties)
  const model: StoredFile = { ...file, properties: storedFields(file) }
  const listable = [
    ...Object.keys(model.properties),
    ...(model.audit === false ? [] : AUDIT_FIELDS.map((field) => field.name)),
  ]
  return [
    ...(names.length > MAX_FIELDS
      ? [{ pointer: '/properties', message: `There are ${names.length} fields; at most ${MAX_FIELDS} are possible.` }]
      : []),
    ...checkNames(names, model.audit !== false),
    ...checkRenames(model, names),
    ...checkInverses(file),
    ...Object.entries(model.properties).flatMap(([name, field]) => [
      ...checkFieldSchema(field, `/properties/${name}`),
      ...checkField(name, field, model),
    ]),
    ...checkLists(model, listable, names),
    ...checkAccess(model),
  ]
}

/** A file without its inverse fields. */
type StoredFile = ModelFile & { properties: Record<string, FieldFile> }

/**
 * Nothing is stored for an inverse field, so no record can be required to have it; and one reference has one inverse.
 */
function checkInverses({ properties, required = [] }: ModelFile): FaultInFile[] {
  const others = new Map<string, string>()
  return Object.entries(properties).flatMap(([name, field]) => {
    if (!isInverse(field)) return []
    const other = others.get(field.inverse)
    others.set(field.inverse, name)
    const message = `names ${field.inverse}, of which "${other}" is the inverse already.`
    return [
      ...(other === undefined ? [] : [{ pointer: `/properties/${name}/inverse`, message }]),
      ...(required.includes(name)
        ? [
            {
              pointer: '/required',
              message: `"${name}" is an inverse field: it is never required. In TypeBox, put it into Type.Optional.`,
            },
          ]
        : []),
    ]
  })
}

function checkNames(names: string[], audit: boolean): FaultInFile[] {
  const taken = new Map([
    ['id', 'id'],
    ['version', 'version'],
  ])
  if (audit) for (const { name } of AUDIT_FIELDS) taken.set(name.toLowerCase(), name)
  return names.flatMap((name) => {
    const pointer = `/properties/${name}`
    const other = taken.get(name.toLowerCase())
    taken.set(name.toLowerCase(), name)
    if (!FIELD_NAME.test(name) || name.length > MAX_NAME)
      return {
        pointer,
        message: `A field's name is up to ${MAX_NAME} letters, digits and single "_" inside, and starts with a letter.`,
      }
    if (name in {}) return { pointer, message: `"${name}" is reserved in JavaScript; choose another name.` }
    if (FIND_PARAMETERS.includes(name))
      return { pointer, message: `"${name}" is a query parameter of find; choose another name.` }
    if (other !== undefined)
      return { pointer, message: `"${name}" is taken by "${other}" (case does not count); choose another name.` }
    return []
  })
}

/** `renamedFrom` must name a field that no longer exists, and only one field may name it. */
function checkRenames({ properties, audit }: StoredFile, names: string[]): FaultInFile[] {
  const taken = new Set(['id', 'version', ...names.map((name) => name.toLowerCase())])
  if (audit !== false) for (const { name } of AUDIT_FIELDS) taken.add(name.toLowerCase())
  const heirs = new Map<string, string>()
  return Object.entries(properties).flatMap(([name, { renamedFrom, computed }]) => {
    if (renamedFrom === undefined) return []
    const earlier = renamedFrom.toLowerCase()
    const heir = heirs.get(earlier)
    heirs.set(earlier, name)
    const fault = (message: string) => [{ pointer: `/properties/${name}/renamedFrom`, message }]
    if (heir !== undefined) return fault(`names "${renamedFrom}", whose values "${heir}" has taken over already.`)
    const isOwn = earlier === name.toLowerCase() && renamedFrom !== name
    if (computed === undefined && (isOwn || !taken.has(earlier))) return []
    return fault('must name a field that this stored field has taken the place of, and that is gone.')
  })
}

/** Values that have a title, and that the field cannot have. */
function unknownTitles({ titles = {}, enum: own, items }: FieldFile): string[] {
  const values = [own ?? items?.enum ?? []].flat().map(String)
  return Object.keys(titles).filter((value) => !values.includes(value))
}

function checkField(name: string, field: FieldFile, model: StoredFile): FaultInFile[] {
  const fault = (keyword: string, message: string) => [{ pointer: `/properties/${name}/${keyword}`, message }]
  const untitled = unknownTitles(field)
  if (untitled.length > 0) return fault('titles', `names ${untitled.join(', ')}, which is no value of "enum".`)
  if (field.unique && !isScalarType(field)) return fault('unique', 'needs a field of a simple type.')
  if (field.index && !isScalarType(field)) return fault('index', 'needs a field of a simple type.')
  if (field.onDelete !== undefined && field.reference === undefined)
    return fault('onDelete', 'needs a "reference" beside it.')
  if (field.reference !== undefined) return checkReferenceField(field, fault, model.required?.includes(name) === true)
  if (field.items?.reference !== undefined) return checkLinksField(field, fault)
  if (field.computed === undefined) return []
  if (field.type !== 'string') return fault('type', 'of a computed field must be string.')
  if (field.default !== undefined) return fault('default', 'has no meaning on a computed field.')
  const template = parseTemplate(field.computed)
  if (!template) return fault('computed', 'must be text with fields in braces, such as "{firstName} {lastName}".')
  const parts = templateFields(template)
  if (parts.length === 0) return fault('computed', 'must name at least one field in braces.')
  return parts.flatMap((part) => {
    const source = Object.hasOwn(model.properties, part) ? model.properties[part] : undefined
    if (!source)
      return fault(
        'computed',
        `names "${part}", which is not a field.${didYouMean(part, Object.keys(model.properties))}`,
      )
    if (source.computed !== undefined || !isScalarType(source))
      return fault('computed', `names "${part}", which must be a field of a simple type that is not computed itself.`)
    if (source.writeOnly) return fault('computed', `names "${part}", which is writeOnly: its value would be shown.`)
    return []
  })
}

type CreateFault = (keyword: string, message: string) => FaultInFile[]

function checkReferenceField(field: FieldFile, fault: CreateFault, required: boolean): FaultInFile[] {
  if (field.type !== 'integer') return fault('type', 'of a reference must be integer: it holds an id.')
  if (field.computed !== undefined) return fault('reference', 'cannot be computed.')
  if (field.default !== undefined) return fault('default', 'would refer to a record that may not exist.')
  if (field.writeOnly) return fault('writeOnly', 'has no meaning on a reference.')
  if (field.onDelete === 'clear' && required)
    return fault('onDelete', 'cannot clear a required field; use restrict or cascade.')
  return []
}

function checkLinksField(field: FieldFile, fault: CreateFault): FaultInFile[] {
  const { minItems = 0, maxItems = 0 } = field as { minItems?: number; maxItems?: number }
  for (const keyword of ['enum', 'const'])
    if (field[keyword] !== undefined) return fault(keyword, 'has no meaning on references.')
  if (field.default !== undefined) return fault('default', 'would refer to records that may not exist.')
  if (field.writeOnly) return fault('writeOnly', 'has no meaning on references.')
  if (maxItems > MAX_LINKS) return fault('maxItems', `is at most ${MAX_LINKS} where the items are references.`)
  if (field.items?.onDelete === 'clear' && minItems > 0)
    return fault('items/onDelete', 'cannot take out ids that "minItems" needs; use restrict.')
  return []
}

/** Checks lists of field names: each field must exist and suit the list. */
function checkLists(model: StoredFile, listable: string[], names: string[]): FaultInFile[] {
  // Another check complains about these.
  const inverses = names.filter((name) => !Object.hasOwn(model.properties, name))
  const shown = listable.filter((name) => !model.properties[name]?.writeOnly)
  const stored = Object.keys(model.properties).filter((name) => model.properties[name]?.computed === undefined)
  const simple = listable.filter((name) => !model.properties[name] || isScalarType(model.properties[name]))
  const all = Object.entries({
    ...Object.fromEntries(AUDIT_FIELDS.map((field) => [field.name, field])),
    ...model.properties,
  })
  const searchable = all.filter(([name, field]) => listable.includes(name) && isSearchable(field)).map(([name]) => name)
  let unknown = 0
  const from = (allowed: string[], pointer: string, names: string[]) =>
    names.flatMap((name, index) => {
      if (allowed.includes(name)) return []
      // Looking for the name that was meant takes time for each name.
      const hint = ++unknown <= MAX_HINTS ? didYouMean(name, allowed) : ''
      return [{ pointer: `${pointer}/${index}`, message: `"${name}" is not a field that can stand here.${hint}` }]
    })
  return [
    ...from([...stored, ...inverses], '/required', model.required ?? []),
    ...from(shown, '/list', model.list ?? []),
    ...from(searchable, '/search', model.search ?? []),
    ...(model.unique ?? []).flatMap((names, index) => from(simple, `/unique/${index}`, names)),
    ...(model.indexes ?? []).flatMap((names, index) => from(simple, `/indexes/${index}`, names)),
    ...(model.nameField !== undefined && !shown.includes(model.nameField)
      ? [
          {
            pointer: '/nameField',
            message: `"${model.nameField}" is not a field.${didYouMean(model.nameField, shown)}`,
          },
        ]
      : []),
  ]
}

/** `where: "own"` needs the audit field `createdBy`, which tells the owner. */
function checkAccess({ access = {}, audit }: ModelFile): FaultInFile[] {
  if (audit !== false) return []
  return Object.entries(access).flatMap(([operation, entries]) =>
    entries.flatMap((entry, index) =>
      typeof entry === 'string' || entry.where !== 'own'
        ? []
        : [{ pointer: `/access/${operation}/${index}`, message: 'needs the audit fields; take out "audit": false.' }],
    ),
  )
}

const isScalarType = (field: FieldFile) => field.type !== 'array' && field.type !== 'object'
