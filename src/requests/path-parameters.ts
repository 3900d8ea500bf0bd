import { Failure } from '../errors.ts'
import type { QueryParameters } from './parameters.ts'

/** Parses the path of a request below /ws/rest. */

export function parseRecordId({ id }: QueryParameters): number {
  if (/^[1-9]\d{0,15}$/.test(id as string) && Number.isSafeInteger(Number(id))) return Number(id)
  throw new Failure('BAD_REQUEST', 'A record id is a whole number from 1 upwards.')
}

/** The model's name. Decoding cannot fail here: the router has refused paths with invalid escapes already. */
export function parseModelName(url: string): string {
  const [path = ''] = url.split(/[?#]/)
  const [, , , name = ''] = path.split('/')
  return decodeURIComponent(name)
}
