import { Ajv, type AnySchemaObject, type ErrorObject, type FuncKeywordDefinition, type Options } from 'ajv'
import addFormats from 'ajv-formats'
import { MAX_FAULTS } from '../errors.ts'
import { isMultipleOf } from '../lib/decimal-numbers.ts'
import { isObject } from '../lib/is-object.ts'
import { FORMATS } from './formats.ts'
import type { JsonSchema } from './model.ts'

type DataValidateFunction = ReturnType<NonNullable<FuncKeywordDefinition['compile']>>

/** No email address, URI or UUID is longer; checking the format of longer texts would only take time. */
const MAX_FORMATTED = 10_000

/** A validator that reports every fault, changes nothing except filling in defaults, and sees own properties only. */
export function createAjv(options: Options = {}): Ajv {
  const ajv = new Ajv({
    allErrors: true,
    useDefaults: true,
    ownProperties: true,
    strict: false,
    // Infinity cannot be stored.
    strictNumbers: true,
    // Schemas are generated here or already checked; checking them again would take a tenth of the start time.
    meta: false,
    validateSchema: false,
    ...options,
  })
  addFormats.default(ajv)
  for (const [name, { validate }] of Object.entries(FORMATS)) {
    // Ajv's own formats are regular expressions or functions.
    const definition = validate ?? (ajv.formats[name] as RegExp | ((text: string) => boolean))
    const isRight = definition instanceof RegExp ? (text: string) => definition.test(text) : definition
    ajv.addFormat(name, (text: string) => text.length <= MAX_FORMATTED && isRight(text))
  }
  for (const keyword of KEYWORDS) {
    if (ajv.getKeyword(keyword.keyword as string)) ajv.removeKeyword(keyword.keyword as string)
    ajv.addKeyword(keyword)
  }
  return ajv
}

/** Sizes are checked before contents: a value that is too long is not checked further. */
const isTooLong = (size: number, bound: unknown) => typeof bound === 'number' && size > bound

/**
 * Replacements for keywords. Ajv's own versions go on inside an array that is too long, compare every item with every
 * other, list every wrong item, and calculate `multipleOf` with binary fractions.
 */
const KEYWORDS: FuncKeywordDefinition[] = [
  {
    keyword: 'uniqueItems',
    type: 'array',
    schemaType: 'boolean',
    validate: (wanted: boolean, items: unknown[], schema?: AnySchemaObject) =>
      !wanted || isTooLong(items.length, schema?.maxItems) || new Set(items.map(canonicalKey)).size === items.length,
    error: { message: 'must NOT have the same item twice' },
  },
  {
    keyword: 'items',
    type: 'array',
    schemaType: 'object',
    modifying: true,
    errors: 'full',
    compile(schema, { maxItems }, { self }) {
      const inner = self.compile(schema)
      const validate: DataValidateFunction = (items: unknown[], context) => {
        const found: Partial<ErrorObject>[] = []
        validate.errors = found
        if (isTooLong(items.length, maxItems)) return true
        for (const [index, item] of items.entries()) {
          const place = { ...context, instancePath: `${context?.instancePath}/${index}`, parentData: items }
          if (!inner(item, { ...place, parentDataProperty: index } as never))
            found.push(...(inner.errors as ErrorObject[]).slice(0, MAX_FAULTS))
          if (found.length >= MAX_FAULTS) break
        }
        return found.length === 0
      }
      return validate
    },
  },
  {
    keyword: 'pattern',
    type: 'string',
    schemaType: 'string',
    compile(pattern: string, { maxLength }) {
      const expression = new RegExp(pattern, 'u')
      const validate: DataValidateFunction = (text: string) => {
        // `maxLength` counts characters, which have one or two UTF-16 units.
        const isRight = isTooLong(text.length, 2 * maxLength) || expression.test(text)
        validate.errors = isRight
          ? []
          : [{ keyword: 'pattern', message: `must match pattern "${pattern}"`, params: {} }]
        return isRight
      }
      return validate
    },
    errors: true,
  },
  {
    keyword: 'multipleOf',
    type: 'number',
    schemaType: 'number',
    compile(step: number) {
      const validate: DataValidateFunction = (value: number) => {
        const isRight = isMultipleOf(value, step)
        validate.errors = isRight ? [] : [{ keyword: 'multipleOf', message: `must be multiple of ${step}`, params: {} }]
        return isRight
      }
      return validate
    },
    errors: true,
  },
  {
    // Replaces `additionalProperties: false`, which would list every unknown property.
    keyword: 'onlyKnown',
    type: 'object',
    schemaType: 'boolean',
    compile(_wanted: boolean, parentSchema) {
      const propertyNames = new Set(Object.keys(parentSchema.properties ?? {}))
      const validate: DataValidateFunction = (object: object) => {
        const unknown: string[] = []
        for (const name of Object.keys(object)) {
          if (!propertyNames.has(name)) unknown.push(name)
          if (unknown.length >= MAX_FAULTS) break
        }
        validate.errors = unknown.map((additionalProperty) => ({
          keyword: 'additionalProperties',
          message: 'must NOT have additional properties',
          params: { additionalProperty },
          parentSchema,
        }))
        return unknown.length === 0
      }
      return validate
    },
    errors: true,
  },
  {
    // SQLite would silently replace a lone surrogate, and its functions stop at a NUL.
    keyword: 'storable',
    type: 'string',
    schemaType: 'boolean',
    validate: (_wanted: boolean, text: string) => isStorableText(text),
    error: { message: 'must be well-formed Unicode without a NUL character' },
  },
]

/** Whether the database stores a text unchanged. */
export const isStorableText = (text: string) => text.isWellFormed() && !text.includes('\0')

/** JSON text that is equal for equal values, whatever the order of an object's properties. */
export function canonicalKey(value: unknown): string {
  return JSON.stringify(value, (_key, inner) =>
    isObject(inner) ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1))) : inner,
  )
}

/** A schema whose validation reports a bounded number of faults, whatever is sent. */
export function boundFaults(schema: JsonSchema): JsonSchema {
  const { additionalProperties, properties, items, ...rest } = schema
  return {
    ...rest,
    ...(additionalProperties === false ? { onlyKnown: true } : { additionalProperties: additionalProperties ?? true }),
    ...(properties !== undefined && {
      properties: Object.fromEntries(
        Object.entries(properties as Record<string, JsonSchema>).map(([name, inner]) => [name, boundFaults(inner)]),
      ),
    }),
    ...(items !== undefined && { items: boundFaults(items as JsonSchema) }),
  }
}
