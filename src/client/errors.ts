import type { Stored } from './types.ts'

/** A request that was refused. */
export class DossierError extends Error {
  readonly code: string
  /** status of HTTP */
  readonly http: number
  /** one message per field */
  readonly errors: Record<string, string>
  /** of a batch: which operation */
  readonly at: number | undefined
  readonly requestId: string | undefined
  /** after how many seconds it may succeed; undefined if it is not worthwhile to try again */
  readonly retryAfter: number | undefined
  /** the whole answer */
  readonly failure: Failure

  constructor(http: number, failure: Failure) {
    super(failure.message ?? `The service answered ${http}.`)
    this.name = 'DossierError'
    this.http = http
    this.code = failure.code ?? 'UNKNOWN'
    this.errors = failure.errors ?? {}
    this.at = failure.at
    this.requestId = failure.requestId
    this.retryAfter = failure.retryAfter
    this.failure = failure
  }
}

/** Somebody else has changed the record: nothing was written. */
export class Conflict<Row extends Stored = Stored> extends DossierError {
  /** the record as it is now */
  readonly current: Row
  /** fields that others changed since, and those that the request also changes */
  readonly fields: Record<string, { base?: unknown; theirs?: unknown; mine?: unknown; by: string | null; at: string }>
  readonly clashes: string[]

  constructor(http: number, failure: Failure) {
    super(http, failure)
    this.name = 'Conflict'
    this.current = failure.data?.[0] as Row
    this.fields = failure.conflict?.fields ?? {}
    this.clashes = failure.conflict?.clashes ?? []
  }
}

/** A failure as the service answers it. */
export interface Failure {
  code?: string
  message?: string
  errors?: Record<string, string>
  at?: number
  requestId?: string
  /** not in the body, but in the header `Retry-After` */
  retryAfter?: number | undefined
  data?: unknown[]
  conflict?: { fields: Conflict['fields']; clashes: string[] }
}

/** Parses a failure. A proxy in between may have answered with anything but JSON. */
export function failureIn(text: string, status: number): Failure {
  try {
    return JSON.parse(text)
  } catch {
    return { message: `The service answered with ${status}, and not in its own words.` }
  }
}

/** The error for an answer that is none. */
export async function toError(response: Response): Promise<DossierError> {
  const { status, headers } = response
  const after = headers.get('retry-after')
  const retryAfter = after === null ? undefined : Number(after)
  const failure: Failure = { ...failureIn(await response.text(), status), retryAfter }
  return failure.code === 'VERSION_CONFLICT' ? new Conflict(status, failure) : new DossierError(status, failure)
}
