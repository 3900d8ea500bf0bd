import type { ErrorObject, ValidateFunction } from 'ajv'
import { boundFaults, createAjv } from '../../model/ajv.ts'
import { explainData } from '../../model/explain.ts'
import type { Field, JsonSchema, Model } from '../../model/model.ts'
import { schemaForCreate, schemaForUpdate } from '../../model/write-schemas.ts'
import type { Row } from '../../storage/storage.ts'
import { isLinksChange, parseLinksChange, takeIds } from './links.ts'

export interface Validators {
  create: Check
  update: Check
  /** for a deleted record: its `writeOnly` fields are not checked, because their values are lost */
  recreate: Check
  /** Compiles the validators now instead of on first use. */
  compile(): void
}

/**
 * Throws a failure that names every invalid field; fills in the defaults of a new record. Where it is stored, TypeScript
 * wants the type of an assertion function: `const checks: Validators = …`.
 */
type Check = (data: unknown) => asserts data is Row

/** Creates the validators that every write of a model goes through. */
export function createValidators(model: Model): Validators {
  const references = model.fields.filter((field) => field.reference).map(({ name }) => name)
  const links = model.fields.filter((field) => field.links && !field.readOnly)
  let compiled: { create: ValidateFunction; update: ValidateFunction } | undefined
  let recreate: ValidateFunction | undefined
  // Compiled on the first request: compiling two hundred models would delay the start by seconds.
  const rules = () => {
    compiled ??= { create: compile(schemaForCreate(model)), update: compile(schemaForUpdate(model)) }
    return compiled
  }
  const check = (validate: ValidateFunction, data: unknown) => {
    for (const name of references) takeId(data as Row, name)
    for (const field of links) takeIds(data as Row, field)
    if (!validate(data)) throw explainData(validate.errors as ErrorObject[])
  }
  /** Changes of links have a form of their own: the rest is checked without them. */
  const checkUpdate = (data: unknown) => {
    const given = Object(data) as Row
    const isChange = ({ name }: Field) => Object.hasOwn(given, name) && isLinksChange(given[name])
    const changes = links.filter(isChange).map((field) => [field, given[field.name] as object] as const)
    for (const [{ name }] of changes) delete given[name]
    check(rules().update, data)
    for (const [field, change] of changes) given[field.name] = parseLinksChange(field, change)
  }
  return {
    create: (data) => check(rules().create, data),
    update: checkUpdate,
    recreate: (data) => {
      recreate ??= compile(schemaForCreate(withoutSecrets(model)))
      check(recreate, data)
    },
    compile: () => void rules(),
  }
}

const withoutSecrets = (model: Model): Model => ({
  ...model,
  fields: model.fields.filter(({ writeOnly }) => !writeOnly),
})

/** Replaces a referenced record by its id, so that a record read with "expand" can be sent back. */
function takeId(data: Row, name: string): void {
  const given = Object.hasOwn(Object(data), name) ? data[name] : undefined
  if (typeof given !== 'object' || given === null || !Object.hasOwn(given, 'id')) return
  if (typeof (given as Row).id === 'number') data[name] = (given as Row).id
}

/** Each schema gets its own Ajv instance, so that both are garbage-collected together with the model. */
const compile = (schema: JsonSchema) => createAjv({ verbose: true }).compile(boundFaults(schema))
