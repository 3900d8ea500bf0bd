import { Failure } from '../errors.ts'
import type { Model, Operation } from './model.ts'

export { type AccessRule, OPERATIONS, type Operation } from './model.ts'

/** The records on which a user may perform an operation. */
export type Scope = 'all' | 'own' | 'none'

/** A user as far as access rules need to know. */
export interface User {
  username: string
  roles: string[]
}

/** Whether a user still has access, and with the same roles. `now` is undefined if the session has ended. */
export const isUnchanged = (now: User | undefined, then: User): boolean =>
  now?.roles.toSorted().join() === then.roles.toSorted().join()

/** Ends a long-running operation if the user has lost access or got other roles meanwhile. */
export function requireUnchanged(now: User | undefined, then: User): void {
  if (!isUnchanged(now, then)) throw new Failure('FORBIDDEN', 'Your rights have been changed meanwhile.')
}

/** The records of a model that a user may access for an operation. Determined once per request and passed along. */
export interface Reach {
  scope: Scope
  /** owner of the records, if the scope is `own` */
  username: string
}

/** The role that has all rights, whatever a model's `access` says. */
export const ADMIN = 'admin'

/** Decides access; no other function does. */
export function scopeFor(model: Model, operation: Operation, user: User): Scope {
  if (user.roles.includes(ADMIN)) return 'all'
  const rules = model.access[operation].filter(({ role }) => role === '*' || user.roles.includes(role))
  // A new record is the user's own, so `own` does not limit `create`.
  if (rules.some(({ own }) => !own || operation === 'create')) return 'all'
  return rules.length > 0 ? 'own' : 'none'
}

/** The failure if a user's scope is `none`. */
export const forbidden = (model: Model, operation: Operation) =>
  new Failure('FORBIDDEN', `You may not ${operation} ${model.name} records.`)

const EVERYBODY = 'everybody logged in'

/** The roles that may perform an operation, as text for people. */
export function describeAccess(model: Model, operation: Operation): string {
  const names = model.access[operation].map(({ role, own }) => {
    const who = role === '*' ? EVERYBODY : role
    return own && operation !== 'create' ? `${who} (own records)` : who
  })
  if (names.includes(EVERYBODY)) return EVERYBODY
  return [...new Set([...names.filter((name) => name !== ADMIN), ADMIN])].join(', ')
}

export const reachFor = (model: Model, operation: Operation, user: User): Reach => ({
  scope: scopeFor(model, operation, user),
  username: user.username,
})

/** Whether a loaded record is within reach. */
export const reaches = ({ scope, username }: Reach, record: Record<string, unknown>): boolean =>
  scope === 'all' || (scope === 'own' && record.createdBy === username)
