import type { ErrorObject } from 'ajv'
import { Failure } from '../errors.ts'
import { didYouMean } from './nearest.ts'

/** What Ajv found wrong with a request's body → one failure that names every field at fault. */
export function explainBody(found: ErrorObject[]): Failure {
  const faults = found.map((error) => ({ ...error, path: pathOf(error) }))
  const ofRequest = faults.filter(({ path }) => path[0] !== 'data' || path.length < 2)
  if (ofRequest.length > 0) {
    const errors = messages(ofRequest)
    const first = Object.entries(errors).map(([name, message]) => `${name} ${message}`)
    const sentence = `The body does not fit: ${first.join(', ')}`
    return new Failure('BAD_REQUEST', /[.?]$/.test(sentence) ? sentence : `${sentence}.`, { errors })
  }
  if (faults.some(({ keyword, path }) => keyword === 'required' && path[1] === 'version' && path.length === 2))
    return new Failure('VERSION_REQUIRED', 'Send the "version" that you read with the record.')
  const errors = messages(faults.map((fault) => ({ ...fault, path: fault.path.slice(1) })))
  const names = Object.keys(errors)
  return new Failure('VALIDATION_FAILED', `${names.join(', ')} ${names.length > 1 ? 'are' : 'is'} not right.`, {
    errors,
  })
}

type Located = ErrorObject & { path: string[] }

/** Where the fault lies: for a missing or an unknown property, the property itself. */
function pathOf({ instancePath, params }: ErrorObject): string[] {
  const steps = instancePath
    .split('/')
    .slice(1)
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'))
  const inner = params.missingProperty ?? params.additionalProperty
  return inner === undefined ? steps : [...steps, inner]
}

function messages(faults: Located[]): Record<string, string> {
  const byField = new Map<string, string[]>()
  for (const fault of faults) {
    const name = fault.path.join('.') || 'body'
    byField.set(name, [...(byField.get(name) ?? []), sentence(fault)])
  }
  // fromEntries defines own properties, so that even "__proto__" is only a name.
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
    const known = Object.keys((parentSchema as { properties?: object }).properties ?? {})
    return `is not a known field.${didYouMean(name, known)}`
  }
  return message as string
}

const isNotNull = (type: string) => type !== 'null'

const withArticle = (type: string) => (/^[aeio]/.test(type) ? `an ${type}` : `a ${type}`)
