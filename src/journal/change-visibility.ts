import type { Access } from '../filters/access.ts'
import type { Reach } from '../filters/reach.ts'
import { areStatesWithin, stateStorage } from '../filters/states-within-reach.ts'
import { inGroups } from '../lib/in-groups.ts'
import { Memo } from '../lib/memo.ts'
import { yieldToOthers } from '../lib/yielder.ts'
import { reachesOwned, type User } from '../model/access.ts'
import { type Model, type Models, visibleColumns } from '../model/model.ts'
import type { VisibleModelsFor } from '../model/visible-models.ts'
import type { Row, Storage } from '../storage/storage.ts'
import type { Change, OwnedChange } from './change.ts'
import { type ChangeRow, ENTRY_COLUMNS, type Entry } from './entry.ts'
import type { Journal } from './journal.ts'
import { createLastStates } from './last-states.ts'
import { revertEntry, stateWhenDeleted } from './rebuild-state.ts'

/** A record before and after a change; null if it was not there, or if nobody knows what it was. */
interface States {
  before: Row | null
  after: Row | null
}

/** How a user sees a change: as a whole, or as a record that is out of reach now. */
type Visibility = 'change' | 'leave'

interface Dependencies {
  storage: Storage
  models: Models
  access: Access
  /** The models as a user sees them. */
  visibleModelsFor: VisibleModelsFor
  journalOf(model: Model): Journal
  /** The record after a change; undefined if the journal lacks it. */
  recordAfter(change: OwnedChange): Promise<Row | null | undefined>
  /** The record as it is now. */
  readCurrentRecord(model: Model, id: number): Promise<Row | undefined>
}

/** Time limit of a comparison of the changes of a page with rules that look at other records. */
const SECONDS = 10
/** Changes whose states are rebuilt before other requests run. */
const CHANGES_PER_PORTION = 20
/** States that are cached: listeners with different rights need the same ones. */
const MAX_CACHED_STATES = 1000
const ENTRY = `SELECT ${ENTRY_COLUMNS} FROM dossier_changes WHERE change = ?`

/** Decides who sees which changes, where rules of rows look at the values of records. */
export function createChangeVisibility({
  storage,
  models,
  access,
  visibleModelsFor,
  journalOf,
  recordAfter,
  readCurrentRecord,
}: Dependencies) {
  const cachedStates = new Memo<States>(MAX_CACHED_STATES)
  const lastStates = createLastStates(storage)

  const reachOf = (user: User, name: string) => access.reachFor(models.get(name) as Model, 'read', user)

  /**
   * The changes that a user sees, in their order. A record that has left the user's reach has the operation `leave`.
   */
  async function filterVisible(user: User, changes: OwnedChange[]): Promise<OwnedChange[]> {
    const visibilities = new Map<number, Visibility>()
    for (const [name, group] of Map.groupBy(changes, ({ model }) => model)) {
      const reach = reachOf(user, name)
      const found =
        reach.scope === 'some'
          ? await compareWithRules(user, reach, models.get(name) as Model, group)
          : byOwner(reach, user, group)
      for (const [change, what] of found) visibilities.set(change, what)
    }
    return changes.flatMap((change) => {
      const what = visibilities.get(change.change)
      return what === 'leave'
        ? [toLeave(change)]
        : what
          ? [withVisibleFields(change, visibleModelOf(user, change))]
          : []
    })
  }

  const visibleModelOf = (user: User, { model }: OwnedChange) => visibleModelsFor(user).get(model) as Model

  /** The text of an event with the fields that a user may read, made from the one with all of them. */
  function textFor(user: User, change: OwnedChange, text: string | undefined): string | undefined {
    const model = visibleModelOf(user, change)
    if (!model.unrestricted || text === undefined) return text
    const { record, ...told } = JSON.parse(text.slice(text.indexOf(DATA) + DATA.length))
    const shown = visibleColumns(model)
    const visibleRecord = record && Object.fromEntries(shown.map((name) => [name, record[name]]))
    return eventText({ ...withVisibleFields(told, model), ...(record !== undefined && { record: visibleRecord }) })
  }

  const byOwner = ({ scope }: Reach, user: User, changes: OwnedChange[]): [number, Visibility][] =>
    changes.filter(({ createdBy }) => reachesOwned(scope, user, createdBy)).map(({ change }) => [change, 'change'])

  async function compareWithRules(
    user: User,
    reach: Reach,
    model: Model,
    changes: OwnedChange[],
  ): Promise<[number, Visibility][]> {
    const states: { change: number; is: keyof States; state: Row }[] = []
    for (const group of inGroups(changes, CHANGES_PER_PORTION)) {
      for (const change of group) {
        const { before, after } = await statesOf(change, model)
        if (before) states.push({ change: change.change, is: 'before', state: before })
        if (after) states.push({ change: change.change, is: 'after', state: after })
      }
      // A page has up to a thousand changes.
      await yieldToOthers()
    }
    const within = await areStatesWithin(
      reach,
      states.map(({ state }) => state),
      model,
      { storage: stateStorage(storage, reach, { username: user.username, seconds: SECONDS }), models, lastStates },
    )
    const found = new Map<number, Partial<Record<keyof States, boolean>>>()
    for (const [index, { change, is }] of states.entries())
      found.set(change, { ...found.get(change), [is]: within[index] })
    return changes.flatMap(({ change, operation }): [number, Visibility][] => {
      const { before = false, after = false } = found.get(change) ?? {}
      if (after || (before && operation === 'delete')) return [[change, 'change']]
      return before ? [[change, 'leave']] : []
    })
  }

  async function statesOf(change: OwnedChange, model: Model): Promise<States> {
    const key = String(change.change)
    return cachedStates.get(key) ?? cachedStates.keep(key, await findStates(change, model))
  }

  async function findStates(change: OwnedChange, model: Model): Promise<States> {
    const { id, version, operation } = change
    const rows = await storage.read({ sql: ENTRY, parameters: [change.change] })
    const journal = journalOf(model)
    const [entry] = await journal.decodeEntries(rows)
    // It may have been pruned just now.
    if (!entry || operation === 'forget') return readCurrentStates(model, id)
    const { was } = rows[0] as unknown as ChangeRow
    if (operation === 'delete') {
      const before = stateWhenDeleted(entry)
      return { before: before ? await journal.toRecord(before, id, version) : null, after: null }
    }
    const after = await recordAfter(change)
    // If the state after the change was erased or is not kept, the record is compared as it is now.
    if (!after) return readCurrentStates(model, id)
    const isNew = was === null && !entry.isForgotten
    return { before: isNew ? null : await stateBefore(entry, after, journal), after }
  }

  async function stateBefore(entry: Entry, after: Row, journal: Journal): Promise<Row | null> {
    const before = revertEntry(after, entry)
    return before ? journal.toRecord(before, after.id as number, entry.version) : after
  }

  async function readCurrentStates(model: Model, id: number): Promise<States> {
    const now = (await readCurrentRecord(model, id)) ?? null
    return { before: now, after: now }
  }

  /** Key of what a user sees: those with equal keys see the same. */
  const keyFor = (user: User, names: Iterable<string>): string =>
    JSON.stringify(
      [...names].map((name) => {
        const { scope, sqlKey, values } = reachOf(user, name)
        const fields =
          visibleModelsFor(user).get(name)?.unrestricted && fieldsKey(visibleModelsFor(user).get(name) as Model)
        return [scope === 'own' ? user.username : values, sqlKey, fields]
      }),
    )

  return { filterVisible, keyFor, textFor, reachOf }
}

const fieldsKey = ({ fields }: Model) => fields.map(({ name, writeOnly }) => [name, writeOnly])

/** A change without the names of fields that a user may not know. */
const withVisibleFields = <Told extends { fields: string[] }>(change: Told, { unrestricted, fields }: Model): Told =>
  unrestricted
    ? { ...change, fields: change.fields.filter((name) => fields.some((field) => field.name === name)) }
    : change

const DATA = '\ndata: '

/** The text of an event. */
export const eventText = (change: Change & { record?: Row | null }) =>
  `id: ${change.change}\nevent: ${change.operation}${DATA}${JSON.stringify(change)}\n\n`

/** Leaves only the id of a record that is out of reach, and the version that was within reach. */
const toLeave = ({ version, ...change }: OwnedChange): OwnedChange => ({
  ...change,
  version: Math.max(0, version - 1),
  operation: 'leave',
  fields: [],
})
