import { sql } from 'kysely'
import { Failure } from '../errors.ts'
import type { Access } from '../filters/access.ts'
import { RIGHTS_MODEL, type User } from '../model/access.ts'
import { type Model, type Models, tableName, visibleColumns } from '../model/model.ts'
import { createVisibleModelsLookup } from '../model/visible-models.ts'
import { PAGE_BYTES } from '../storage/size.ts'
import type { Row, Storage } from '../storage/storage.ts'
import { createRowDecoder } from '../tables/columns.ts'
import { ALWAYS, all as allOf, any, is, NEVER } from '../tables/condition.ts'
import { quote } from '../tables/ddl.ts'
import { recordRead, requireCurrentShape } from '../tables/shape.ts'
import type { Change, OwnedChange } from './change.ts'
import { createChangeVisibility } from './change-visibility.ts'
import type { ChangeRow } from './entry.ts'
import { createJournal, type Journal, type KnownState } from './journal.ts'

export interface ChangePage {
  changes: OwnedChange[]
  /** number of the last change that was examined; the next page starts after it */
  next: number
  /** users whose rights have changed there: what they saw before that change does not count any more */
  rightsChanges: { username: string; change: number }[]
}

/** Changes examined for one page at most: any number of them may be invisible to the user. */
const MAX_LOOKED_AT = 10_000

/** Number of records whose state is cached for their next change. */
const MAX_KNOWN_STATES = 20

const COLUMNS =
  'change, model, id, version, operation, "by", at, "createdBy", batch, fields, NULL AS was, NULL AS became'

/** Names of the requested models; undefined means all. */
export type ModelFilter = ReadonlySet<string> | undefined

/** The changes of all models, in commit order. */
export function createFeed(storage: Storage, models: Models, access: Access) {
  const readers = new Map<string, ModelReader>()
  /** states of records after their last rendered change, by model and id */
  const knownStates = new Map<string, KnownState>()
  const readerOf = (model: Model): ModelReader => {
    const reader = readers.get(model.name) ?? createModelReader(storage, model)
    readers.set(model.name, reader)
    return reader
  }

  const visibleModelsFor = createVisibleModelsLookup(models)
  const changeVisibility = createChangeVisibility({
    visibleModelsFor,
    storage,
    models,
    access,
    journalOf: (model) => readerOf(model).journal,
    readCurrentRecord: (model, id) => readerOf(model).readCurrentRecord(id),
    recordAfter,
  })

  /** Whether the journal still has every change after `since`: it has that change, or begins right after it. */
  async function hasChangesSince(since: number): Promise<boolean> {
    const row = await storage.readOne({ sql: 'SELECT 1 FROM dossier_changes WHERE change = ?', parameters: [since] })
    return row !== undefined || since + 1 === (await readBounds(storage)).oldest
  }

  /** Throws if the journal does not have all changes after `since`, or if the user had other rights then. */
  async function requireChangesSince(since: number, { rightsSince = 0 }: User): Promise<void> {
    if (since < rightsSince) throw rightsChangedFailure(rightsSince)
    if (await hasChangesSince(since)) return
    const { oldest } = await readBounds(storage)
    throw new Failure(
      'CHANGES_GONE',
      `The change ${since} is not kept. The oldest that is has the number ${oldest}: read the records again, and go on from now.`,
      { data: [{ oldest }] },
    )
  }

  /** The changes after `since` that the user may see, oldest first. */
  async function readPage(
    user: User,
    wanted: ModelFilter,
    since: number,
    limit: number,
    until = Number.MAX_SAFE_INTEGER,
  ): Promise<ChangePage> {
    const some = [...models.values()].filter(({ name }) => !wanted || wanted.has(name))
    // Rules of rows look at values: `filterVisible` compares them.
    const owned = { all: ALWAYS, some: ALWAYS, own: is`"createdBy" = ${user.username}`, none: NEVER }
    const scoped = Map.groupBy(some, ({ name }) => changeVisibility.reachOf(user, name).scope)
    // The expression prevents an index on "model", which would read all its changes, not only those after `since`.
    const isOf = (names: string[]) => is`"model" || '' IN (${sql.join(names)})`
    const conditions = [...scoped].map(([scope, group]) => allOf([owned[scope], isOf(group.map(({ name }) => name))]))
    conditions.push(isOf([RIGHTS_MODEL]))
    const settled = await storage.readSettled()
    const last = await storage.readOne({ sql: LOOKED_AT, parameters: [since, settled, MAX_LOOKED_AT] })
    const upTo = Math.max(since, Math.min((last?.last as number | null) ?? since, until))
    const { rows, isTruncated } = await storage.readUpTo(
      sql`SELECT ${sql.raw(COLUMNS)} FROM dossier_changes WHERE ${is`"change" > ${since} AND "change" <= ${upTo}`}
        AND ${any(conditions)} ORDER BY "change" LIMIT ${limit}`.compile(storage.db),
      PAGE_BYTES,
    )
    const isFull = isTruncated || rows.length === limit
    const changes = await changeVisibility.filterVisible(user, await decodeRows(rows))
    return {
      changes,
      next: isFull ? ((rows.at(-1)?.change as number) ?? since) : upTo,
      rightsChanges: findRightsChanges(rows),
    }
  }

  /** All changes after `since`, whether or not a user may see them. */
  async function readAllChanges(
    since: number,
    limit: number,
    until: number,
  ): Promise<ChangePage & { isFull: boolean }> {
    const text = `SELECT ${COLUMNS} FROM dossier_changes WHERE change > ? AND change <= ? ORDER BY change LIMIT ?`
    const upTo = Math.min(until, await storage.readSettled())
    const rows = await storage.read({ sql: text, parameters: [since, upTo, limit] })
    const next = (rows.at(-1)?.change as number | undefined) ?? since
    return {
      changes: await decodeRows(rows),
      next,
      isFull: rows.length === limit,
      rightsChanges: findRightsChanges(rows),
    }
  }

  /** Decodes rows. Changes of models that are no longer served are left out: no user may read them. */
  async function decodeRows(rows: Row[]): Promise<OwnedChange[]> {
    const byModel = Map.groupBy(rows as unknown as (ChangeRow & { model: string })[], ({ model }) => model)
    const changes = await Promise.all([...byModel].map(([name, group]) => decodeChanges(models.get(name), group)))
    return changes.flat().sort((a, b) => a.change - b.change)
  }

  async function decodeChanges(model: Model | undefined, group: ChangeRow[]): Promise<OwnedChange[]> {
    if (!model) return []
    const { journal } = readerOf(model)
    const entries = await journal.decodeEntries(group as unknown as Row[])
    return entries.map((entry, index): OwnedChange => {
      const { change, version, operation, by, at, batch } = entry
      const { id, createdBy } = group[index] as ChangeRow
      // A field that the file no longer has may have been for some roles only.
      const isField = (name: string) => model.fields.some((field) => field.name === name)
      const fields = journal
        .shownValues(entry)
        .map(([field]) => field)
        .filter(isField)
      const stamp = { by, at, ...(batch !== null && { batch }) }
      return { change, model: model.name, id, version, operation, ...stamp, fields, createdBy }
    })
  }

  /**
   * The record after a change; null after its delete, undefined if the journal lacks it. Callers ask in the order of
   * changes, so the result is mostly the current record, or follows from the cached state after the change before.
   */
  async function recordAfter({ model: name, id, change, version, operation }: Change): Promise<Row | null | undefined> {
    const { readCurrentRecord, journal } = readerOf(models.get(name) as Model)
    const now = operation === 'delete' ? undefined : await readCurrentRecord(id)
    if (!now && (operation === 'delete' || operation === 'forget')) return null
    if (now?.version === version) return now
    const key = `${name} ${id}`
    const state = await journal.stateAfterChange(id, change, version, knownStates.get(key), () => readCurrentRecord(id))
    remember(key, state && { change, version, state })
    return state && journal.toRecord(state, id, version)
  }

  function remember(key: string, state: KnownState | undefined) {
    knownStates.delete(key)
    if (state) knownStates.set(key, state)
    for (const oldest of knownStates.keys()) {
      if (knownStates.size <= MAX_KNOWN_STATES) return
      knownStates.delete(oldest)
    }
  }

  const { filterVisible, keyFor, textFor } = changeVisibility
  return {
    hasChangesSince,
    requireChangesSince,
    readPage,
    readAllChanges,
    recordAfter,
    filterVisible,
    keyFor,
    textFor,
    models,
  }
}

/** The users whose rights have changed, among rows of the journal. */
const findRightsChanges = (rows: Row[]): ChangePage['rightsChanges'] =>
  rows
    .filter(({ model }) => model === RIGHTS_MODEL)
    .map(({ createdBy, change }) => ({ username: createdBy as string, change: change as number }))

/** Whether one of the changes of rights concerns the user, and is later than the position and the rights loaded now. */
export const hasOtherRights = (
  others: ChangePage['rightsChanges'],
  { username, rightsSince = 0 }: User,
  position: number,
) => others.some((one) => one.username === username && one.change > Math.max(position, rightsSince))

/**
 * Failure for a user whose rights have changed after the requested position: the client has to read the records again.
 */
export const rightsChangedFailure = (since: number) =>
  new Failure(
    'CHANGES_GONE',
    `Your rights have been changed since, at the change ${since}: read the records again, and go on from now.`,
    { data: [{ oldest: since }] },
  )

/** The numbers of the oldest and the newest change in the journal. */
export async function readBounds(storage: Storage): Promise<{ oldest: number; newest: number }> {
  const settled = await storage.readSettled()
  const row = (await storage.readOne({ sql: BOUNDS, parameters: [settled] })) as {
    oldest: number | null
    newest: number | null
  }
  return { oldest: row.oldest ?? 1, newest: row.newest ?? 0 }
}

export const readNewest = async (storage: Storage) => (await readBounds(storage)).newest

export type Feed = ReturnType<typeof createFeed>

const BOUNDS = `
  SELECT (SELECT min(change) FROM dossier_changes) AS oldest, (SELECT max(change) FROM dossier_changes WHERE change <= ?) AS newest`

const LOOKED_AT = `
  SELECT max(change) AS last FROM (SELECT change FROM dossier_changes WHERE change > ? AND change <= ?
    ORDER BY change LIMIT ?) AS looked`

interface ModelReader {
  journal: Journal
  readCurrentRecord(id: number): Promise<Row | undefined>
}

function createModelReader(storage: Storage, model: Model): ModelReader {
  const decode = createRowDecoder(model)
  const columns = visibleColumns(model).map(quote).join(', ')
  const text = `SELECT ${columns} FROM ${quote(tableName(model))} WHERE "id" = ?`
  return {
    journal: createJournal(storage, model),
    readCurrentRecord: async (id) => {
      requireCurrentShape(storage, model)
      const row = await storage.readOne(recordRead(storage.dialect, model, { sql: text, parameters: [id] }))
      return row && decode(row)
    },
  }
}
