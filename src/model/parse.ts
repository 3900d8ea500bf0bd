import type { ErrorObject, ValidateFunction } from 'ajv'
import { mapValues } from '../lib/map-values.ts'
import { didYouMean } from '../lib/nearest.ts'
import { EVERYBODY } from './access.ts'
import { createAjv } from './ajv.ts'
import { checkFields } from './check.ts'
import {
  type FaultInFile,
  type FieldFile,
  type InverseFile,
  isInverse,
  type ModelFile,
  type ModelFileFault,
  type RawModel,
  storedFields,
} from './file.ts'
import metaSchema from './model.schema.json' with { type: 'json' }
import {
  type AccessRule,
  AUDIT_FIELDS,
  defaultSearch,
  type Field,
  type Inverse,
  inverseTarget,
  isScalar,
  type JsonSchema,
  MAX_LINKS,
  type Model,
  type Reference,
} from './model.ts'
import { parseTemplate } from './template.ts'
import { plainText, plainTextIfAny, translationsIn } from './translations.ts'

/** Dossier's own keywords of a field, which are no part of its JSON Schema. */
const OWN_KEYWORDS = new Set([
  'unique',
  'index',
  'computed',
  'readOnly',
  'writeOnly',
  'default',
  'reference',
  'onDelete',
  'renamedFrom',
  'access',
  'titles',
])

let validator: ValidateFunction<ModelFile> | undefined

/**
 * Compiled for the first file: that takes a twentieth of a start, and serving threads and most commands read no file.
 */
function getValidator(): ValidateFunction<ModelFile> {
  validator ??= createAjv({
    strict: true,
    allowUnionTypes: true,
    verbose: true,
    useDefaults: false,
    // The validator runs once per file, so optimising its code would take longer than it saves.
    inlineRefs: false,
    code: { optimize: false },
  }).compile<ModelFile>(metaSchema)
  return validator
}

/** Turns a raw model file into a Model, or returns all its faults. */
export function parseModel({ file, name, hash, raw }: RawModel): Model | ModelFileFault[] {
  const tidy = mergeLiteralUnions(raw)
  const validate = getValidator()
  // An error of `if` only says that one of its branches has errors.
  const errors = validate(tidy) ? [] : (validate.errors as ErrorObject[]).filter(({ keyword }) => keyword !== 'if')
  const misshapen = errors.map(describe)
  const faults = [...misshapen, ...checkFields(withoutFaults(tidy, misshapen))]
  return faults.length > 0 ? faults.map((fault) => ({ file, ...fault })) : toModel(name, hash, tidy as ModelFile)
}

/** The part of a file that conforms to the meta-schema, for further checks. Faulty fields count as strings. */
function withoutFaults(raw: unknown, faults: FaultInFile[]): ModelFile {
  const at = (pointer: string) =>
    faults.some((fault) => fault.pointer === pointer || fault.pointer.startsWith(`${pointer}/`))
  if (faults.some(({ pointer }) => pointer === '' || pointer === '/properties')) return { properties: {} }
  const { properties, ...rest } = raw as ModelFile
  const fields = Object.entries(properties).map(([name, field]): [string, FieldFile | InverseFile] => [
    name,
    at(`/properties/${name}`) ? { type: 'string' } : field,
  ])
  return {
    ...Object.fromEntries(Object.entries(rest).filter(([keyword]) => !at(`/${keyword}`))),
    properties: Object.fromEntries(fields),
  }
}

function toModel(name: string, hash: string, file: ModelFile): Model {
  const entries = Object.entries(storedFields(file))
  const own = entries.map(([fieldName, field]) => toField(fieldName, field, file.required ?? []))
  const single = (keyword: 'unique' | 'index') =>
    entries.filter(([, field]) => field[keyword]).map(([field]) => [field])
  const audit = file.audit !== false
  const fields = audit ? [...own, ...AUDIT_FIELDS] : own
  const list = file.list ?? own.filter((field) => isScalar(field) && !field.writeOnly).map((field) => field.name)
  return {
    name,
    hash,
    title: plainTextIfAny(file.title) ?? (name.split('.').at(-1) as string),
    plural: plainTextIfAny(file.plural),
    description: plainTextIfAny(file.description),
    ...translationsIn({ title: file.title, plural: file.plural, description: file.description }),
    fields,
    inverses: Object.entries(file.properties).flatMap(([inverse, field]) =>
      isInverse(field) ? [toInverse(inverse, field)] : [],
    ),
    list,
    nameField: file.nameField,
    search: file.search ?? defaultSearch({ fields, list, nameField: file.nameField }),
    unique: [...single('unique'), ...(file.unique ?? [])],
    indexes: [...single('index'), ...(file.indexes ?? [])],
    audit,
    history: file.history !== false,
    access: toAccess(file.access),
  }
}

const OPEN: NonNullable<ModelFile['access']> = {
  read: [EVERYBODY],
  create: [EVERYBODY],
  update: [EVERYBODY],
  delete: [EVERYBODY],
}

/** Without `access` a model is open to all users. With it, operations that are left out are for the role admin only. */
function toAccess(file = OPEN): Model['access'] {
  const rules = (entries: (string | { role: string; where: 'own' | object })[] = []): AccessRule[] =>
    entries.map((entry) => {
      if (typeof entry === 'string') return { role: entry, own: false }
      const { role, where } = entry
      return where === 'own' ? { role, own: true } : { role, own: false, where: where as object }
    })
  return { read: rules(file.read), create: rules(file.create), update: rules(file.update), delete: rules(file.delete) }
}

function toField(name: string, file: FieldFile, required: string[]): Field {
  const { items, titles } = file
  const texts = { title: plainTextIfAny(file.title), description: plainTextIfAny(file.description) }
  const given = Object.entries(file).filter(([keyword]) => !OWN_KEYWORDS.has(keyword))
  const schema = Object.fromEntries(
    given.map(([keyword, value]) => [keyword, texts[keyword as keyof typeof texts] ?? value]),
  )
  const links = items?.reference === undefined ? undefined : toReference(items.reference, items.onDelete)
  return {
    name,
    type: file.type,
    format: file.format,
    ...texts,
    ...(titles && { titles: mapValues(titles, plainText) }),
    ...translationsIn({ title: file.title, description: file.description, titles }),
    schema: links ? { ...schema, ...linksSchema(schema) } : schema,
    required: required.includes(name),
    default: file.default,
    computed: file.computed === undefined ? undefined : parseTemplate(file.computed),
    reference: file.reference === undefined ? undefined : toReference(file.reference, file.onDelete),
    links,
    renamedFrom: file.renamedFrom,
    readOnly: file.readOnly === true || file.computed !== undefined,
    writeOnly: file.writeOnly === true,
    ...(file.access && { access: file.access }),
  }
}

const toReference = (model: string, onDelete: Reference['onDelete'] = 'restrict'): Reference => ({ model, onDelete })

/** The rules that all fields with several references have. */
const linksSchema = ({ maxItems = MAX_LINKS }: JsonSchema): JsonSchema => ({
  items: { type: 'integer', minimum: 1, maximum: Number.MAX_SAFE_INTEGER },
  uniqueItems: true,
  maxItems,
})

function toInverse(name: string, { inverse, title, description }: InverseFile): Inverse {
  const texts = { title: plainTextIfAny(title), description: plainTextIfAny(description) }
  return { name, ...texts, ...translationsIn({ title, description }), ...inverseTarget(inverse) }
}

/** Replaces `anyOf` of constants, as TypeBox writes an enumeration, by the equivalent `enum`. */
function mergeLiteralUnions(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(mergeLiteralUnions)
  if (typeof value !== 'object' || value === null) return value
  const object = Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, mergeLiteralUnions(inner)]))
  const { anyOf, ...rest } = object
  if (!Array.isArray(anyOf) || !anyOf.every((option) => option && 'const' in option && 'type' in option)) return object
  return { ...rest, type: anyOf[0].type, enum: anyOf.map((option) => option.const) }
}

/** Explains an error of the meta-schema to the author of the file. */
function describe({ keyword, instancePath, params, message, parentSchema }: ErrorObject): FaultInFile {
  if (keyword === 'additionalProperties') {
    const name = params.additionalProperty as string
    const propertyNames = Object.keys((parentSchema as { properties: object }).properties)
    return { pointer: `${instancePath}/${name}`, message: `is not a known keyword.${didYouMean(name, propertyNames)}` }
  }
  if (keyword === 'enum')
    return { pointer: instancePath, message: `must be one of ${params.allowedValues.join(', ')}.` }
  if (keyword === 'const') return { pointer: instancePath, message: `must be ${JSON.stringify(params.allowedValue)}.` }
  if (keyword === 'required') {
    const missing = params.missingProperty as string
    const hint = missing === 'type' ? ': string, integer, number, boolean, array or object' : ''
    return { pointer: instancePath, message: `needs "${missing}"${hint}.` }
  }
  return { pointer: instancePath, message: `${message}.` }
}
