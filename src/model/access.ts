import { Failure } from '../errors.ts'
import type { Model } from './model.ts'

export const OPERATIONS = ['read', 'create', 'update', 'delete'] as const
export type Operation = (typeof OPERATIONS)[number]

/** For which records somebody may do something. */
export type Scope = 'all' | 'own' | 'none'

/** One entry of a model's `access`: a role, or `*` for anybody who is logged in; perhaps only for their own records. */
export interface AccessRule {
  role: string
  own: boolean
}

/** Who asks. */
export interface Person {
  username: string
  roles: string[]
}

/** Whether somebody is still who they were: there, and with the same roles. */
export const isUnchanged = (now: Person | undefined, then: Person): boolean =>
  now?.roles.toSorted().join() === then.roles.toSorted().join()

/** Whoever has been shut out meanwhile, or has got other roles, does not go on. */
export function requireUnchanged(now: Person | undefined, then: Person): void {
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
export function scopeOf(model: Model, operation: Operation, person: Person): Scope {
  if (person.roles.includes(ADMIN)) return 'all'
  const rules = model.access[operation].filter(({ role }) => role === '*' || person.roles.includes(role))
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

export const reachOf = (model: Model, operation: Operation, person: Person): Reach => ({
  scope: scopeOf(model, operation, person),
  username: person.username,
})

/** Whether a record that is known is within reach. */
export const reaches = ({ scope, username }: Reach, record: Record<string, unknown>): boolean =>
  scope === 'all' || (scope === 'own' && record.createdBy === username)
