import { Failure } from '../errors.ts'
import { bad } from './query.ts'

/** HTTP's own way to name a version: the tag of a record is its version. */
export const toETag = (version: number) => `"${version}"`

/** Whether a client has this version already, by its `If-None-Match`. */
export function isKnown(version: number, ifNoneMatch: string | undefined): boolean {
  if (ifNoneMatch === undefined) return false
  const tags = ifNoneMatch.split(',').map((tag) => tag.trim().replace(/^W\//, ''))
  return tags.includes(toETag(version)) || tags.includes('*')
}

/** The version that `If-Match` names; undefined without one. */
export function versionIn(ifMatch: string | undefined): number | undefined {
  if (ifMatch === undefined) return undefined
  const version = /^"(0|[1-9]\d{0,15})"$/.exec(ifMatch)?.[1]
  if (version === undefined || !Number.isSafeInteger(Number(version)))
    throw bad('"If-Match" must be the ETag of the record that was read, such as "3".')
  return Number(version)
}

/** Where a version is named in two ways, they have to agree. */
export function agreeing<Version>(
  matched: Version | undefined,
  given: Version | undefined,
  where = '"If-Match"',
): Version | undefined {
  if (matched !== undefined && given !== undefined && matched !== given)
    throw bad(`${where} names the version ${matched}, but "version" is ${JSON.stringify(given)}. Send one of the two.`)
  return matched ?? given
}

/** What the body of a delete may say: the version, as in an address or as in an update. */
export type DeleteBody = { version?: unknown; data?: unknown }

/** The version that the body of a delete names; undefined without one. What else is in there is refused. */
export function versionInBody(body: DeleteBody | null | undefined, id: number): number | undefined {
  if (body === undefined || body === null) return undefined
  const { data = body, ...beside } = Object(body) as DeleteBody
  const isPlain = typeof data === 'object' && data !== null && !Array.isArray(data)
  const { id: named = id, version, ...others } = Object(data) as { id?: unknown; version?: unknown }
  const isKnownBody = isPlain && Object.keys(others).length === 0 && (data === body || Object.keys(beside).length === 0)
  if (!isKnownBody || (version !== undefined && !isVersion(version)))
    throw bad('The body of a delete may only name the version: {"version": 3}, or {"data": {"id": 7, "version": 3}}.')
  if (named !== id) throw bad(`The body names the id ${JSON.stringify(named)}, but the path names ${id}.`)
  return version as number | undefined
}

const isVersion = (value: unknown) => Number.isSafeInteger(value) && (value as number) >= 0

/** Of an update or a delete; the second where `If-Match` named the version. */
export const CONFLICTS = ['VERSION_CONFLICT' as const, { code: 'VERSION_CONFLICT' as const, http: 412 }]

/** Carries out what depends on a version: a conflict is answered in the way in which the version was named. */
export async function asPreconditionFailed<Result>(
  matched: number | undefined,
  work: () => Promise<Result>,
): Promise<Result> {
  try {
    return await work()
  } catch (error) {
    const isConflict = error instanceof Failure && error.code === 'VERSION_CONFLICT'
    throw isConflict && matched !== undefined ? error.answeredWith(412) : error
  }
}
