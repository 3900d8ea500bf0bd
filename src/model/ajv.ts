import { Ajv, type AnySchemaObject, type ErrorObject, type FuncKeywordDefinition, type Options } from 'ajv'
import addFormats from 'ajv-formats'
import { MAX_FAULTS } from '../errors.ts'
import { isMultipleOf } from '../lib/decimal-numbers.ts'
import { FORMATS } from './formats.ts'
import type { JsonSchema } from './model.ts'

type DataValidateFunction = ReturnType<NonNullable<FuncKeywordDefinition['compile']>>

/** No address, link or identifier is longer; checking the form of more would only take time. */
const LONGEST_FORMATTED = 10_000

/** A validator that reports every fault, changes nothing but filling in defaults, and sees own properties only. */
export function newAjv(options: Options = {}): Ajv {
  const ajv = new Ajv({
    allErrors: true,
    useDefaults: true,
    ownProperties: true,
    strict: false,
    // Infinity is no number that could be stored.
    strictNumbers: true,
    // The schemas are made here, or checked already: checking them once more would take a tenth of the start.
    meta: false,
    validateSchema: false,
    ...options,
  })
  addFormats.default(ajv)
  for (const [name, { validate }] of Object.entries(FORMATS)) {
    // JSON Schema's own are expressions or functions.
    const known = validate ?? (ajv.formats[name] as RegExp | ((text: string) => boolean))
    const isRight = known instanceof RegExp ? (text: string) => known.test(text) : known
    ajv.addFormat(name, (text: string) => text.length <= LONGEST_FORMATTED && isRight(text))
  }
  for (const keyword of KEYWORDS) {
    if (ajv.getKeyword(keyword.keyword as string)) ajv.removeKeyword(keyword.keyword as string)
    ajv.addKeyword(keyword)
  }
  return ajv
}

/** Sizes come before what is inside: what is too long is not looked at further. */
const isTooLong = (size: number, bound: unknown) => typeof bound === 'number' && size > bound

/**
 * Ajv's own go on inside an array that is already too long, compare every item with every other, list every item that is
 * wrong, and reckon with binary fractions.
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
        // A character is one or two units long.
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
    // In the place of `additionalProperties: false`, which would list every property that nobody knows.
    keyword: 'onlyKnown',
    type: 'object',
    schemaType: 'boolean',
    compile(_wanted: boolean, parentSchema) {
      const known = new Set(Object.keys(parentSchema.properties ?? {}))
      const validate: DataValidateFunction = (object: object) => {
        const unknown: string[] = []
        for (const name of Object.keys(object)) {
          if (!known.has(name)) unknown.push(name)
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
    // SQLite would silently replace half a surrogate pair, and its functions stop at a NUL.
    keyword: 'storable',
    type: 'string',
    schemaType: 'boolean',
    validate: (_wanted: boolean, text: string) => isStorableText(text),
    error: { message: 'must be well-formed Unicode without a NUL character' },
  },
]

/** Whether a text is kept as it is. */
export const isStorableText = (text: string) => text.isWellFormed() && !text.includes('\0')

/** The same key for the same value, in whatever order the properties of an object are. */
export function canonicalKey(value: unknown): string {
  return JSON.stringify(value, (_key, inner) =>
    typeof inner === 'object' && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  )
}

/** A schema whose faults are bounded, whatever is sent. */
export function withinBounds(schema: JsonSchema): JsonSchema {
  const { additionalProperties, properties, items, ...rest } = schema
  return {
    ...rest,
    ...(additionalProperties === false ? { onlyKnown: true } : { additionalProperties: additionalProperties ?? true }),
    ...(properties !== undefined && {
      properties: Object.fromEntries(
        Object.entries(properties as Record<string, JsonSchema>).map(([name, inner]) => [name, withinBounds(inner)]),
      ),
    }),
    ...(items !== undefined && { items: withinBounds(items as JsonSchema) }),
  }
}
