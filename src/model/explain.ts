import type { ErrorObject } from 'ajv'
import { Failure, MAX_FAULTS } from '../errors.ts'
import { didYouMean } from '../lib/nearest.ts'
import { findFormat } from './formats.ts'

/** Explains faults in the body of a request: those outside of `data` if any, otherwise those of its fields. */
export function explainBody(found: ErrorObject[]): Failure {
  const ofRequest = found.filter((error) => errorPath(error)[0] !== 'data' || errorPath(error).length < 2)
  if (ofRequest.length === 0)
    return invalidFields(
      messages(found.map((error) => ({ ...error, instancePath: error.instancePath.replace('/data', '') }))),
    )
  const errors = messages(ofRequest)
  const first = Object.entries(errors).map(([name, message]) => `${name} ${message}`)
  if ('data' in errors && ofRequest.some(({ keyword }) => keyword === 'additionalProperties'))
    return new Failure('BAD_REQUEST', 'Put the fields into "data": {"data": {…}}.', { errors })
  const sentence = `The body does not fit: ${first.map((one) => one.replace(/\.$/, '')).join(', ')}`
  return new Failure('BAD_REQUEST', /[.?]$/.test(sentence) ? sentence : `${sentence}.`, { errors })
}

/** Explains faults in the data of a record: one failure that names every faulty field, up to MAX_FAULTS faults. */
export function explainData(found: ErrorObject[]): Failure {
  const lacks = ({ keyword, params, instancePath }: ErrorObject, name: string) =>
    keyword === 'required' && params.missingProperty === name && instancePath === ''
  if (found.some((error) => lacks(error, 'version')))
    return new Failure(
      'VERSION_REQUIRED',
      'Send the "version" that you read with the record, or its ETag as "If-Match".',
    )
  return invalidFields(messages(found))
}

/** The failure for invalid fields, with a message for each. */
export function invalidFields(errors: Record<string, string>): Failure {
  const names = Object.keys(errors)
  const sentence = `${names.join(', ')} ${names.length > 1 ? 'are' : 'is'} not right.`
  return new Failure('VALIDATION_FAILED', sentence, { errors })
}

/** The failure for one invalid field. Its message names the field and what is wrong with it. */
export const invalidField = (field: string, why: string): Failure =>
  new Failure('VALIDATION_FAILED', `${field}: ${why}.`, { errors: { [field]: why } })

type Located = ErrorObject & { path: string[] }

/** Path of the fault; for a missing or unknown property, the path of that property. */
function errorPath({ instancePath, params }: ErrorObject): string[] {
  const segments = instancePath
    .split('/')
    .slice(1)
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'))
  const inner = params.missingProperty ?? params.additionalProperty
  return inner === undefined ? segments : [...segments, inner]
}

function messages(found: ErrorObject[]): Record<string, string> {
  const byField = new Map<string, string[]>()
  for (const error of found.slice(0, MAX_FAULTS)) {
    const fault = { ...error, path: errorPath(error) }
    const name = fault.path.join('.') || 'body'
    byField.set(name, [...(byField.get(name) ?? []), sentence(fault)])
  }
  // `fromEntries` defines own properties, so even "__proto__" is an ordinary name.
  return Object.fromEntries([...byField].map(([name, sentences]) => [name, sentences.join('; ')]))
}

function sentence({ keyword, params, message, parentSchema, path }: Located): string {
  if (keyword === 'required') return 'is required'
  if (keyword === 'type') return `must be ${[params.type].flat().filter(isNotNull).map(withArticle).join(' or ')}`
  if (keyword === 'enum')
    return `must be one of ${(params.allowedValues as unknown[]).filter((value) => value !== null).join(', ')}`
  if (keyword === 'additionalProperties') {
    const name = path.at(-1) as string
    if (name === 'id' || name === 'version') return 'is assigned by the service; leave it out'
    const propertyNames = Object.keys((parentSchema as { properties?: object }).properties ?? {})
    return `is not a known field.${didYouMean(name, propertyNames)}`
  }
  return (keyword === 'format' ? findFormat(params.format)?.mustBe : message) as string
}

const isNotNull = (type: string) => type !== 'null'

const withArticle = (type: string) => (/^[aeio]/.test(type) ? `an ${type}` : `a ${type}`)
