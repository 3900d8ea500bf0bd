import type { ErrorObject, ValidateFunction } from 'ajv'
import { newAjv, withinBounds } from '../../model/ajv.ts'
import { explainData } from '../../model/explain.ts'
import type { JsonSchema, Model } from '../../model/model.ts'
import { createRules, updateRules } from '../../model/rules.ts'
import type { Row } from '../../storage/storage.ts'

export interface Checks {
  create: Check
  update: Check
  /** of a record that was deleted: its secrets are gone */
  recreate: Check
  /** Compiles them now rather than when they are first needed. */
  prepare(): void
}

/** Throws a failure that names every field at fault; fills in what a new record starts with. */
type Check = (data: unknown) => asserts data is Row

/** What is checked before anything of a model is written, whoever wants it. */
export function createChecks(model: Model): Checks {
  const references = model.fields.filter((field) => field.reference).map(({ name }) => name)
  let compiled: { create: ValidateFunction; update: ValidateFunction } | undefined
  let recreate: ValidateFunction | undefined
  // When the first request comes: two hundred models would else hold up the start for seconds.
  const rules = () => {
    compiled ??= { create: compile(createRules(model)), update: compile(updateRules(model)) }
    return compiled
  }
  const check = (validate: ValidateFunction, data: unknown) => {
    for (const name of references) takeId(data as Row, name)
    if (!validate(data)) throw explainData(validate.errors as ErrorObject[])
  }
  return {
    create: (data) => check(rules().create, data),
    update: (data) => check(rules().update, data),
    recreate: (data) => {
      recreate ??= compile(createRules(withoutSecrets(model)))
      check(recreate, data)
    },
    prepare: () => void rules(),
  }
}

const withoutSecrets = (model: Model): Model => ({
  ...model,
  fields: model.fields.filter(({ writeOnly }) => !writeOnly),
})

/** What was read with "expand" may be sent back: of the record that is referred to, only the id counts. */
function takeId(data: Row, name: string): void {
  const given = Object.hasOwn(Object(data), name) ? data[name] : undefined
  if (typeof given !== 'object' || given === null || !Object.hasOwn(given, 'id')) return
  if (typeof (given as Row).id === 'number') data[name] = (given as Row).id
}

/** Each has a validator of its own, which goes when the model does. */
const compile = (schema: JsonSchema) => newAjv({ verbose: true }).compile(withinBounds(schema))
