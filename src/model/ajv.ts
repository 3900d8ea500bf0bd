import { Ajv, type Options } from 'ajv'
import addFormats from 'ajv-formats'
import { FORMATS } from './formats.ts'

/** A validator that reports every fault, changes nothing but filling in defaults, and sees own properties only. */
export function newAjv(options: Options = {}): Ajv {
  const ajv = new Ajv({
    allErrors: true,
    useDefaults: true,
    ownProperties: true,
    strict: false,
    // The schemas are made here, or checked already: checking them once more would take a tenth of the start.
    meta: false,
    validateSchema: false,
    ...options,
  })
  addFormats.default(ajv)
  for (const [name, definition] of Object.entries(FORMATS)) ajv.addFormat(name, definition)
  // SQLite would silently replace half a surrogate pair, and its functions stop at a NUL.
  return ajv.addKeyword({
    keyword: 'storable',
    type: 'string',
    schemaType: 'boolean',
    validate: (_wanted: boolean, text: string) => text.isWellFormed() && !text.includes('\0'),
    error: { message: 'must be well-formed Unicode without a NUL character' },
  })
}
