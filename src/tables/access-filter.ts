import type { Reach } from '../model/access.ts'
import { ALWAYS, all, type Condition, is, NEVER } from './condition.ts'

/**
 * Condition of every statement on records: the records that the user may access, then `conditions`. Only this function
 * joins the two. `owner` is the bound username; a cached statement has a placeholder instead.
 */
export function withReach({ scope }: Pick<Reach, 'scope'>, owner: unknown, ...conditions: Condition[]): Condition {
  const reach = scope === 'own' ? is`"createdBy" = ${owner}` : scope === 'all' ? ALWAYS : NEVER
  return all([reach, ...conditions])
}
