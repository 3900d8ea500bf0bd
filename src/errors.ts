/**
 * Every failure a client can see. The table is the contract: a code never changes its meaning, and `plugins/API.md`
 * lists each one (a test compares the two). `http` is the HTTP status, `status` the negative number in the envelope.
 */
export const CODES = {
  BAD_REQUEST: { http: 400, status: -1 },
  FIND_TOO_SLOW: { http: 400, status: -1 },
  VERSION_REQUIRED: { http: 400, status: -4 },
  LOGIN_REQUIRED: { http: 401, status: -7 },
  LOGIN_INCORRECT: { http: 401, status: -5 },
  TOO_MANY_ATTEMPTS: { http: 429, status: -6 },
  FORBIDDEN: { http: 403, status: -1 },
  MODEL_NOT_FOUND: { http: 404, status: -1 },
  RECORD_NOT_FOUND: { http: 404, status: -1 },
  VERSION_NOT_FOUND: { http: 404, status: -1 },
  ROUTE_NOT_FOUND: { http: 404, status: -1 },
  METHOD_NOT_ALLOWED: { http: 405, status: -1 },
  VERSION_CONFLICT: { http: 409, status: -1 },
  NOT_UNIQUE: { http: 409, status: -4 },
  KEY_IN_USE: { http: 409, status: -1 },
  LAST_ADMIN: { http: 409, status: -4 },
  REFERENCE_VIOLATION: { http: 409, status: -4 },
  CHANGES_GONE: { http: 410, status: -1 },
  BODY_TOO_LARGE: { http: 413, status: -1 },
  UNSUPPORTED_MEDIA_TYPE: { http: 415, status: -1 },
  VALIDATION_FAILED: { http: 422, status: -4 },
  KEY_REUSED: { http: 422, status: -4 },
  INTERNAL: { http: 500, status: -1 },
  UNAVAILABLE: { http: 503, status: -1 },
  STORAGE_FULL: { http: 507, status: -1 },
} as const

export type Code = keyof typeof CODES

/** Optional details of a failure, beside its code and message. */
export interface FailureDetails {
  /** one message per field at fault */
  errors?: Record<string, string>
  /** the current record, on a version conflict */
  data?: unknown[]
  /** fields that others changed since the request's version; shaped as `ConflictSchema` */
  conflict?: object | undefined
  /** index of the failed operation of a batch, from 0 */
  at?: number
  headers?: Record<string, string>
  /** HTTP status, if it is not the default of the code */
  http?: number
}

/** May be thrown anywhere; `plugins/errors.ts` turns it into the answer. */
export class Failure extends Error {
  readonly code: Code
  readonly details: FailureDetails

  constructor(code: Code, message: string, details: FailureDetails = {}) {
    super(message.length > MAX_MESSAGE ? `${message.slice(0, MAX_MESSAGE)} …` : message)
    this.name = 'Failure'
    this.code = code
    this.details = details.errors ? { ...details, errors: boundErrors(details.errors) } : details
  }

  /** HTTP status of the answer. */
  get http(): number {
    return this.details.http ?? CODES[this.code].http
  }

  /** Copy of this failure for operation `at` of a batch. */
  atOperation(at: number): Failure {
    return new Failure(this.code, this.message, { ...this.details, at })
  }

  /** Copy of this failure with another HTTP status: a conflict with `If-Match` is answered with 412. */
  withStatus(http: number): Failure {
    return new Failure(this.code, this.message, { ...this.details, http })
  }
}

/** Bounds the answer: messages and field names may quote data of any length that the client sent. */
const MAX_MESSAGE = 2000
const MAX_NAME = 200
/** Largest number of faults in one answer; a body may have more, but longer lists are not useful. */
export const MAX_FAULTS = 100

/** `Object.fromEntries` defines own properties, so even "__proto__" is an ordinary name. */
function boundErrors(errors: Record<string, string>): Record<string, string> {
  const some = Object.entries(errors).slice(0, MAX_FAULTS)
  return Object.fromEntries(some.map(([name, fault]) => [name.slice(0, MAX_NAME), fault.slice(0, MAX_MESSAGE)]))
}

/** A failure that the client may retry after `seconds`. */
export const unavailableFailure = (message: string, seconds = 1) =>
  new Failure('UNAVAILABLE', message, { headers: { 'retry-after': String(seconds) } })

/** Answer to requests that are shed under overload. */
export const OVERLOADED = unavailableFailure('The service is overloaded. Try again in a moment.')

/** Answer to requests that meet tables of other models than those that are served. */
export const CHANGING = unavailableFailure('The models are being changed. Try again in a second.')
