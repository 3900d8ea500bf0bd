import type { Row } from './model.ts'

/** Ids that were added to and removed from several references. It merges with what others add and remove. */
export class LinksChange {
  readonly add: number[]
  readonly remove: number[]

  constructor(add: number[], remove: number[]) {
    this.add = add
    this.remove = remove
  }
}

/** The change that leads from some ids to others; all of them, if their order has changed as well. */
export function linksChange(before: number[], after: number[]): LinksChange | number[] {
  const add = after.filter((id) => !before.includes(id))
  const remove = before.filter((id) => !after.includes(id))
  const result = [...before.filter((id) => !remove.includes(id)), ...add]
  return result.every((id, at) => id === after[at]) ? new LinksChange(add, remove) : after
}

/** Input on top of another version of a record: what was added and removed is so from the ids that it has. */
export function rebaseInput<Input>(
  typed: Record<string, Input | string[]>,
  sent: Record<string, unknown>,
  now: Row,
): Record<string, Input | string[]> {
  const next = { ...typed }
  for (const [name, change] of Object.entries(sent)) {
    if (!(change instanceof LinksChange)) continue
    const ids = ((now[name] ?? []) as number[]).filter((id) => !change.remove.includes(id))
    next[name] = [...new Set([...ids, ...change.add])].map(String)
  }
  return next
}
