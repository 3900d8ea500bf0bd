import { Failure } from '../errors.ts'
import { isObject } from '../lib/is-object.ts'
import { badRequest } from './query.ts'

/** The ETag of a record is its version. */
export const toETag = (version: number | string) => `"${version}"`

/** Whether the client has this version already, according to `If-None-Match`. */
export function matchesETag(version: number | string, ifNoneMatch: string | undefined): boolean {
  if (ifNoneMatch === undefined) return false
  const tags = ifNoneMatch.split(',').map((tag) => tag.trim().replace(/^W\//, ''))
  return tags.includes(toETag(version)) || tags.includes('*')
}

/**
 * The version in `If-Match`; undefined without one, and for `*`, which only says that the record exists. Of several
 * tags, it is the one that the record has now. A weak tag never matches (RFC 9110).
 */
export async function parseIfMatch(
  ifMatch: string | undefined,
  currentVersion: () => Promise<number>,
): Promise<number | undefined> {
  if (ifMatch === undefined || ifMatch.trim() === '*') return undefined
  const tags = ifMatch.split(',').map((tag) => tag.trim())
  const versions = tags.filter((tag) => !tag.startsWith('W/')).map(versionOfTag)
  if (versions.length === 0)
    throw new Failure(
      'VERSION_CONFLICT',
      `"If-Match" has only weak ETags, which never match. Send ${toETag(3)} for W/"3".`,
      {
        http: 412,
      },
    )
  if (versions.length === 1) return versions[0]
  const current = await currentVersion()
  return versions.includes(current) ? current : versions[0]
}

function versionOfTag(tag: string): number {
  const version = Number(/^"(0|[1-9]\d{0,15})"$/.exec(tag)?.[1] ?? Number.NaN)
  if (Number.isSafeInteger(version)) return version
  throw badRequest('"If-Match" must be the ETag of the record that was read, such as "3".')
}

/** Whether a record is to be created only if there is none of its unique values (`If-None-Match: *`). */
export function mustBeNew(ifNoneMatch: string | undefined): boolean {
  if (ifNoneMatch === undefined) return false
  if (ifNoneMatch.trim() === '*') return true
  throw badRequest('"If-None-Match" of a create must be *: only if there is no record with its unique values.')
}

/** Throws if a request that is not about one record names a version. */
export function refuseIfMatch({ 'if-match': ifMatch }: { 'if-match'?: string | undefined }): void {
  if (ifMatch !== undefined) throw badRequest('"If-Match" is about one record that exists. It has no meaning here.')
}

/** Runs a create. With `If-None-Match: *`, a unique value that is taken is answered with 412 instead of 409. */
export async function withNewOnlyStatus<Result>(isNewOnly: boolean, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work()
  } catch (error) {
    const isTaken = isNewOnly && error instanceof Failure && error.code === 'NOT_UNIQUE'
    throw isTaken ? error.withStatus(412) : error
  }
}

/** Returns the given version; throws if both are given and differ. `where` names the source of `matched`. */
export function requireSameVersion<Version>(
  matched: Version | undefined,
  given: Version | undefined,
  where = '"If-Match"',
): Version | undefined {
  if (matched !== undefined && given !== undefined && matched !== given)
    throw badRequest(
      `${where} names the version ${matched}, but "version" is ${JSON.stringify(given)}. Send one of the two.`,
    )
  return matched ?? given
}

/** The body of a delete names the version: directly, or in `data` as in an update. */
export type DeleteBody = { version?: unknown; data?: unknown }

/** The version in the body of a delete; undefined without one. Other properties are refused, except a matching `id`. */
export function versionInBody(body: DeleteBody | null | undefined, id: number): number | undefined {
  if (body === undefined || body === null) return undefined
  const { data = body, ...beside } = Object(body) as DeleteBody
  const { id: named, version, ...others } = Object(data) as { id?: unknown; version?: unknown }
  const isKnownBody =
    isObject(data) && Object.keys(others).length === 0 && (data === body || Object.keys(beside).length === 0)
  if (!isKnownBody || (version !== undefined && !isVersion(version)))
    throw badRequest(
      'The body of a delete may only name the version: {"version": 3}, or {"data": {"id": 7, "version": 3}}.',
    )
  requireSameId(named, id)
  return version as number | undefined
}

/** Throws if a body names another id than the path. */
export function requireSameId(named: unknown, id: number): void {
  if (named !== undefined && named !== id)
    throw badRequest(`The body names the id ${JSON.stringify(named)}, but the path names ${id}.`)
}

export const isVersion = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0

/** Failures of an update or delete by version: 409, or 412 if the version came from `If-Match`. */
export const CONFLICTS = ['VERSION_CONFLICT' as const, { code: 'VERSION_CONFLICT' as const, http: 412 }]

/** Runs `work`. If the version came from `If-Match`, a version conflict is answered with 412 instead of 409. */
export async function withPreconditionStatus<Result>(
  matched: number | undefined,
  work: () => Promise<Result>,
): Promise<Result> {
  try {
    return await work()
  } catch (error) {
    // A conflict with errors is one of a record that was written together with it.
    const isConflict = error instanceof Failure && error.code === 'VERSION_CONFLICT' && !error.details.errors
    throw isConflict && matched !== undefined ? error.withStatus(412) : error
  }
}
