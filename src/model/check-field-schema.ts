import type { ValidateFunction } from 'ajv'
import { canonicalKey, createAjv, isStorableText } from './ajv.ts'
import type { FaultInFile } from './file.ts'
import type { JsonSchema } from './model.ts'

const ajv = createAjv({ useDefaults: false })

const SIZED = ['minItems', 'maxItems', 'uniqueItems', 'items']
const NUMERIC = ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf']
/** Keywords by the type that they apply to. On another type they would silently have no effect. */
const KEYWORDS_OF: Record<string, readonly string[]> = {
  string: ['minLength', 'maxLength', 'pattern', 'format'],
  integer: NUMERIC,
  number: NUMERIC,
  boolean: [],
  array: SIZED,
  object: ['properties', 'required', 'additionalProperties'],
}

/** Checks the schema of a value at any depth: keywords must fit its type, `enum` and `default` must keep its rules. */
export function checkFieldSchema(schema: JsonSchema, pointer: string): FaultInFile[] {
  const faults: FaultInFile[] = []
  const type = schema.type as string | undefined
  for (const [owner, keywords] of Object.entries(KEYWORDS_OF)) {
    for (const keyword of keywords) {
      if (keyword in schema && type !== undefined && !KEYWORDS_OF[type]?.includes(keyword) && owner !== type)
        faults.push({
          pointer: `${pointer}/${keyword}`,
          message: `applies to a field of type ${owner}, not ${type}.`,
        })
    }
  }
  const values = (schema.enum ?? []) as unknown[]
  for (const [index, value] of values.entries())
    if (values.findIndex((other) => canonicalKey(other) === canonicalKey(value)) < index)
      faults.push({ pointer: `${pointer}/enum/${index}`, message: 'occurs twice.' })
  for (const keyword of ['default', 'enum', 'const', 'computed'])
    if (keyword in schema && !isStorable(schema[keyword]))
      faults.push({
        pointer: `${pointer}/${keyword}`,
        message: 'must be well-formed Unicode without a NUL character.',
      })
  const check = compile(schema, pointer, faults)
  if (check) {
    for (const [index, value] of values.entries())
      if (!check(value))
        faults.push({ pointer: `${pointer}/enum/${index}`, message: 'breaks the rules of its own field.' })
    if ('default' in schema && !check(schema.default))
      faults.push({ pointer: `${pointer}/default`, message: 'breaks the rules of its own field.' })
  }
  if (schema.items) faults.push(...checkFieldSchema(schema.items as JsonSchema, `${pointer}/items`))
  for (const [name, inner] of Object.entries((schema.properties ?? {}) as Record<string, JsonSchema>))
    faults.push(...checkFieldSchema(inner, `${pointer}/properties/${name}`))
  return uniqueByPointer(faults)
}

/** Whether all texts in a value can be stored as they are. */
function isStorable(value: unknown): boolean {
  if (typeof value === 'string') return isStorableText(value)
  return typeof value !== 'object' || value === null || Object.values(value).every(isStorable)
}

function compile(schema: JsonSchema, pointer: string, faults: FaultInFile[]): ValidateFunction | undefined {
  if (typeof schema.pattern === 'string') {
    try {
      new RegExp(schema.pattern, 'u')
    } catch (error) {
      faults.push({
        pointer: `${pointer}/pattern`,
        message: `is not a regular expression: ${(error as Error).message}.`,
      })
      return undefined
    }
  }
  // Only these keywords have values to check. Compiling takes most of the time when there are many models.
  if (!('enum' in schema) && !('default' in schema)) return undefined
  let check: ValidateFunction | undefined
  try {
    check = ajv.compile(schema)
  } catch {
    // A nested schema is broken; its own check reports that.
  }
  ajv.removeSchema(schema)
  return check
}

function uniqueByPointer(faults: FaultInFile[]): FaultInFile[] {
  return [...new Map(faults.map((fault) => [fault.pointer, fault])).values()]
}
