import { Failure } from '../errors.ts'
import type { Model, Operation } from './model.ts'

export { type AccessRule, OPERATIONS, type Operation } from './model.ts'

/** For which records somebody may do something. */
export type Scope = 'all' | 'own' | 'none'

/** Who asks. */
export interface User {
  username: string
  roles: string[]
}

/** Whether somebody is still who they were: there, and with the same roles. */
export const isUnchanged = (now: User | undefined, then: User): boolean =>
  now?.roles.toSorted().join() === then.roles.toSorted().join()

/** Whoever has been shut out meanwhile, or has got other roles, does not go on. */
export function requireUnchanged(now: User | undefined, then: User): void {
  if (!isUnchanged(now, then)) throw new Failure('FORBIDDEN', 'Your rights have been changed meanwhile.')
}

/** What somebody may reach of a model's records for some purpose. Asked once per request, it goes along as one value. */
export interface Reach {
  scope: Scope
  /** whose records, if only their own */
  username: string
}

/** May always, whatever a model says. */
export const ADMIN = 'admin'

/** The one place that decides. */
export function scopeFor(model: Model, operation: Operation, user: User): Scope {
  if (user.roles.includes(ADMIN)) return 'all'
  const rules = model.access[operation].filter(({ role }) => role === '*' || user.roles.includes(role))
  // What is created is one's own from then on.
  if (rules.some(({ own }) => !own || operation === 'create')) return 'all'
  return rules.length > 0 ? 'own' : 'none'
}

/** Where there is nothing that somebody may do so. */
export const forbidden = (model: Model, operation: Operation) =>
  new Failure('FORBIDDEN', `You may not ${operation} ${model.name} records.`)

const EVERYBODY = 'everybody logged in'

/** The same in words, for people. */
export function whoMay(model: Model, operation: Operation): string {
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

/** Whether a record that is known is within reach. */
export const reaches = ({ scope, username }: Reach, record: Record<string, unknown>): boolean =>
  scope === 'all' || (scope === 'own' && record.createdBy === username)
