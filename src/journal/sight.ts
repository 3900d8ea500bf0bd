import type { Access } from '../filters/access.ts'
import type { Reach } from '../filters/reach.ts'
import { statesWithin } from '../filters/states.ts'
import type { User } from '../model/access.ts'
import type { Model, Models } from '../model/model.ts'
import type { Row, Storage } from '../storage/storage.ts'
import type { OwnedChange } from './change.ts'
import { type ChangeRow, ENTRY_COLUMNS, type Entry } from './entry.ts'
import type { Journal } from './journal.ts'
import { createLastStates } from './last-states.ts'
import { asDeleted, undo } from './states.ts'

/** A record before and after a change; null if it was not there, or if nobody knows what it was. */
interface States {
  before: Row | null
  after: Row | null
}

/** What a user sees of a change: all of it, or that the record is out of reach now. */
type Seen = 'change' | 'leave'

interface Parts {
  storage: Storage
  models: Models
  access: Access
  journalOf(model: Model): Journal
  /** The record after a change; undefined if the journal lacks it. */
  recordAfter(change: OwnedChange): Promise<Row | null | undefined>
  /** The record as it is now. */
  look(model: Model, id: number): Promise<Row | undefined>
}

/** States that are kept: listeners with different rights need the same ones. */
const MAX_KEPT = 1000
const ENTRY = `SELECT ${ENTRY_COLUMNS} FROM dossier_changes WHERE change = ?`

/** Decides who sees which changes, where rules of rows look at the values of records. */
export function createSight({ storage, models, access, journalOf, recordAfter, look }: Parts) {
  const kept = new Map<number, States>()
  const lastStates = createLastStates(storage)

  const reachOf = (user: User, name: string) => access.reachFor(models.get(name) as Model, 'read', user)

  /** The changes that a user sees, in their order. A record that has left the user's reach has the operation `leave`. */
  async function seenBy(user: User, changes: OwnedChange[]): Promise<OwnedChange[]> {
    const seen = new Map<number, Seen>()
    for (const [name, group] of Map.groupBy(changes, ({ model }) => model)) {
      const reach = reachOf(user, name)
      const found =
        reach.scope === 'some' ? await compare(reach, models.get(name) as Model, group) : byOwner(reach, user, group)
      for (const [change, what] of found) seen.set(change, what)
    }
    return changes.flatMap((change) => {
      const what = seen.get(change.change)
      return what === 'leave' ? [toLeave(change)] : what ? [change] : []
    })
  }

  const byOwner = ({ scope }: Reach, { username }: User, changes: OwnedChange[]): [number, Seen][] =>
    changes
      .filter(({ createdBy }) => scope === 'all' || (scope === 'own' && createdBy === username))
      .map(({ change }) => [change, 'change'])

  async function compare(reach: Reach, model: Model, changes: OwnedChange[]): Promise<[number, Seen][]> {
    const states: { change: number; is: keyof States; state: Row }[] = []
    for (const change of changes) {
      const { before, after } = await statesOf(change, model)
      if (before) states.push({ change: change.change, is: 'before', state: before })
      if (after) states.push({ change: change.change, is: 'after', state: after })
    }
    const within = await statesWithin(
      reach,
      states.map(({ state }) => state),
      model,
      { storage, models, lastStates },
    )
    const found = new Map<number, Partial<Record<keyof States, boolean>>>()
    for (const [index, { change, is }] of states.entries())
      found.set(change, { ...found.get(change), [is]: within[index] })
    return changes.flatMap(({ change, operation }): [number, Seen][] => {
      const { before = false, after = false } = found.get(change) ?? {}
      if (after || (before && operation === 'delete')) return [[change, 'change']]
      return before ? [[change, 'leave']] : []
    })
  }

  async function statesOf(change: OwnedChange, model: Model): Promise<States> {
    const known = kept.get(change.change)
    if (known) return known
    const states = await findStates(change, model)
    kept.set(change.change, states)
    for (const oldest of kept.keys()) {
      if (kept.size <= MAX_KEPT) break
      kept.delete(oldest)
    }
    return states
  }

  async function findStates(change: OwnedChange, model: Model): Promise<States> {
    const { id, version, operation } = change
    const row = await storage.readOne({ sql: ENTRY, parameters: [change.change] })
    const journal = journalOf(model)
    const [entry] = row ? await journal.entries([row]) : []
    if (!entry || operation === 'forget') return asItIs(model, id)
    const { was } = row as unknown as ChangeRow
    if (operation === 'delete') {
      const before = asDeleted(entry)
      return { before: before ? await journal.toRecord(before, id, version) : null, after: null }
    }
    const after = await recordAfter(change)
    // What was forgotten, or is not kept, is compared as it is now.
    if (!after) return asItIs(model, id)
    const isNew = was === null && !entry.isForgotten
    return { before: isNew ? null : await stateBefore(entry, after, journal), after }
  }

  async function stateBefore(entry: Entry, after: Row, journal: Journal): Promise<Row | null> {
    const before = undo(after, entry)
    return before ? journal.toRecord(before, after.id as number, entry.version) : after
  }

  async function asItIs(model: Model, id: number): Promise<States> {
    const now = (await look(model, id)) ?? null
    return { before: now, after: now }
  }

  /** Key of what a user sees: those with equal keys see the same. */
  const keyFor = (user: User, names: Iterable<string>): string =>
    JSON.stringify(
      [...names].map((name) => {
        const { scope, shape, values } = reachOf(user, name)
        return scope === 'own' ? [scope, user.username] : [shape, values]
      }),
    )

  return { seenBy, keyFor, reachOf }
}

/** Of a record out of reach only its id is told, and the version that was within reach. */
const toLeave = ({ version, ...change }: OwnedChange): OwnedChange => ({
  ...change,
  version: Math.max(0, version - 1),
  operation: 'leave',
  fields: [],
})
