import { Failure } from '../errors.ts'
import { type AccessRule, type Model, OPERATIONS, type Operation } from './model.ts'

export { type AccessRule, OPERATIONS, type Operation } from './model.ts'

/** The records on which a user may perform an operation; `some`: those that rules of the model select. */
export type Scope = 'all' | 'own' | 'some' | 'none'

/** A user as far as access rules need to know. */
export interface User {
  username: string
  roles: string[]
  /** what rules compare with, as `$user.regions` */
  attributes?: Attributes
  /** number of the change in the journal since which these are the user's rights */
  rightsSince?: number
}

export type AttributeValue = string | number | (string | number)[]
export type Attributes = Record<string, AttributeValue>

/** Whether a user still has access, and with the same rights. `now` is undefined if the session has ended. */
export const hasSameRights = (now: User | undefined, then: User): boolean =>
  now !== undefined && rightsKey(now) === rightsKey(then)

/** Model name of the journal entries that record a change of a user's rights; their `createdBy` is the user. */
export const RIGHTS_MODEL = 'dossier.rights'

/** Text that is equal for equal roles and attributes. */
const rightsKey = ({ roles, attributes = {} }: User) =>
  JSON.stringify([
    roles.toSorted(),
    Object.entries(attributes)
      .map((entry) => JSON.stringify(entry))
      .sort(),
  ])

/** Ends a long-running operation if the user has lost access or got other roles meanwhile. */
export function requireSameRights(now: User | undefined, then: User): void {
  if (!hasSameRights(now, then)) throw new Failure('FORBIDDEN', 'Your rights have been changed meanwhile.')
}

/** Stands in rules for all roles. */
export const EVERYBODY = '*'

/** The role that has all rights, whatever a model's `access` says. */
export const ADMIN = 'admin'

/** Whether a user may do anything with records of a model: to others it does not exist. */
export const mayUse = (model: Model, user: User): boolean =>
  OPERATIONS.some((operation) => scopeFor(model, operation, user) !== 'none')

/**
 * The records that the roles of a user open: all, the user's own, some or none. `filters/access.ts` decides about
 * single records, `visible-models.ts` about fields.
 */
export function scopeFor(model: Model, operation: Operation, user: User): Scope {
  if (user.roles.includes(ADMIN)) return 'all'
  const rules = rulesFor(model, operation, user)
  // A new record is the user's own, so `own` does not limit `create`.
  if (rules.some(({ own, where }) => !where && (!own || operation === 'create'))) return 'all'
  if (rules.some(({ where }) => where)) return 'some'
  return rules.length > 0 ? 'own' : 'none'
}

/** The rules that apply to a user's roles. */
export const rulesFor = (model: Model, operation: Operation, user: User): AccessRule[] =>
  model.access[operation].filter(({ role }) => role === EVERYBODY || user.roles.includes(role))

/** The roles that fields of a model name. */
export const fieldRoles = ({ fields }: Model): string[] =>
  fields.flatMap(({ access }) => [...(access?.read ?? []), ...(access?.write ?? [])])

/** All roles that a model's file names. */
export const namedRoles = (model: Model): string[] => [
  ...OPERATIONS.flatMap((operation) => model.access[operation].map(({ role }) => role)),
  ...fieldRoles(model),
]

/** Whether a user may access a record of which the owner is known. Not for the scope `some`. */
export const reachesOwned = (scope: Scope, { username }: User, createdBy: unknown): boolean =>
  scope === 'all' || (scope === 'own' && createdBy === username)

/** The failure if a user's scope is `none`. */
export const forbiddenFailure = (model: Model, operation: Operation) =>
  new Failure('FORBIDDEN', `You may not ${operation} ${model.name} records.`)

/** The failure if a user would write a record that they could not write then. */
export const outOfReachFailure = (model: Model, operation: Operation) =>
  new Failure(
    'FORBIDDEN',
    `You may not ${operation} a ${model.name} like this: it would be out of your reach. A rule of the model says which records are yours.`,
  )

const EVERYBODY_TEXT = 'everybody logged in'

/** The roles that may perform an operation, as text for people. */
export function describeAccess(model: Model, operation: Operation): string {
  const names = model.access[operation].map(({ role, own, where }) => {
    const who = role === EVERYBODY ? EVERYBODY_TEXT : role
    if (where) return `${who} (by a rule)`
    return own && operation !== 'create' ? `${who} (own records)` : who
  })
  if (names.includes(EVERYBODY_TEXT)) return EVERYBODY_TEXT
  return [...new Set([...names.filter((name) => name !== ADMIN), ADMIN])].join(', ')
}
