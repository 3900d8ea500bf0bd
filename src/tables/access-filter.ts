import type { Reach } from '../model/access.ts'
import { ALWAYS, all, type Condition, is, NEVER } from './condition.ts'

/**
 * What every statement on records is limited by: first what somebody reaches, then what else is asked. The one function
 * that joins them. `owner` is the name that is bound: a remembered statement has a hole there.
 */
export function withReach({ scope }: Pick<Reach, 'scope'>, owner: unknown, ...conditions: Condition[]): Condition {
  const reach = scope === 'own' ? is`"createdBy" = ${owner}` : scope === 'all' ? ALWAYS : NEVER
  return all([reach, ...conditions])
}
