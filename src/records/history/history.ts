import { Failure } from '../../errors.ts'
import { areStatesWithin, stateStorage } from '../../filters/states-within-reach.ts'
import { restoredVersion } from '../../journal/backup-restores.ts'
import type { ChangeRow, Entry, FieldChange } from '../../journal/entry.ts'
import { createJournal, type Journal } from '../../journal/journal.ts'
import { createLastStates } from '../../journal/last-states.ts'
import { stateWhenDeleted } from '../../journal/rebuild-state.ts'
import { ADMIN, reachesOwned, type User } from '../../model/access.ts'
import { type Field, isOfType, type Model, unrestrictedModel, visibleFields } from '../../model/model.ts'
import { badRequest, type Selection } from '../../requests/query.ts'
import type { MaybePromise, Row } from '../../storage/storage.ts'
import type { Caller } from '../caller.ts'
import type { RecordsContext, StoredRecord } from '../context.ts'

/** One change as a client receives it. */
interface HistoryItem extends Pick<Entry, 'change' | 'version' | 'operation' | 'by' | 'at'> {
  batch?: number
  changes: Record<string, NonNullable<FieldChange> | object>
}

/** A page of changes, the newest first. */
export interface HistoryPage<Item> {
  total: number
  next?: string
  data: Item[]
}

interface HistoryPageInput {
  limit: number
  /** number of the change before which the page begins; undefined for the first page */
  before: number | undefined
  hasMore: boolean
  /** number of the last change on the page */
  last: number | undefined
}

/** Builds a page. Only calls `count` if needed: a first page without a next one contains all items. */
export async function createHistoryPage<Item>(
  data: Item[],
  { limit, before, hasMore, last }: HistoryPageInput,
  count: () => Promise<number>,
): Promise<HistoryPage<Item>> {
  const isAll = before === undefined && !hasMore && limit > 0
  const total = isAll ? data.length : await count()
  return { total, ...(hasMore && last !== undefined && { next: String(last) }), data }
}

/** Looks up a record; undefined if it does not exist or is out of reach. */
export type RecordLookup = (id: number, user: User) => Promise<StoredRecord | undefined>

/** History and former versions of a model's records, for users who may read the records themselves. */
export function createHistory(context: RecordsContext, model: Model, journal: Journal, findReadable: RecordLookup) {
  const { storage, access, findSeconds, limits } = context
  const lastStates = createLastStates(storage)
  // Rules may look at fields that the user does not see.
  const unrestrictedJournal = model.unrestricted ? createJournal(storage, model.unrestricted) : journal
  const names = visibleFields(model).map(({ name }) => name)
  const searchOptions = ({ username, signal }: Caller) => ({ username, signal, seconds: findSeconds })

  /** The `delete` change of a record that the user could have read. */
  async function findReadableDeletion(id: number, user: User): Promise<ChangeRow | undefined> {
    const last = await journal.findDeletion(id)
    const [isSeen] = last ? await couldRead([last], user) : []
    return isSeen ? last : undefined
  }

  /** For each `delete` change, whether the user could have read the record as it was last. */
  async function couldRead(deletions: ChangeRow[], user: Caller): Promise<boolean[]> {
    const reach = access.reachFor(model, 'read', user)
    if (reach.scope !== 'some') return deletions.map(({ createdBy }) => reachesOwned(reach.scope, user, createdBy))
    const records: Row[] = []
    for (const [index, entry] of (await unrestrictedJournal.decodeEntries(deletions as unknown as Row[])).entries()) {
      const { id, version } = deletions[index] as ChangeRow
      // An erased state is a record without values: it does not tell whose it was.
      records.push(await unrestrictedJournal.toRecord(stateWhenDeleted(entry) ?? {}, id, version))
    }
    const parts = { storage: stateStorage(storage, reach, searchOptions(user)), models: access.models, lastStates }
    const within = await areStatesWithin(reach, records, unrestrictedModel(model), parts)
    return within.map((isWithin, index) => isWithin && deletions[index]?.was !== null)
  }

  /** Whether the user may read the record, or could have read it as it was last. */
  async function isReadable(id: number, user: User): Promise<boolean> {
    if (access.reachFor(model, 'read', user).scope === 'all') return true
    return ((await findReadable(id, user)) ?? (await findReadableDeletion(id, user))) !== undefined
  }

  /** The error for a missing record. It names who deleted the record if the user could have read it. */
  async function notFoundFailure(id: number, user: User): Promise<Failure> {
    const last = await findReadableDeletion(id, user)
    const what = last ? `: ${last.by ?? 'somebody at the database'} deleted it at ${last.at}` : ''
    return new Failure('RECORD_NOT_FOUND', `There is no ${model.name} with the id ${id}${what}.`)
  }

  async function requireReach(id: number, user: User): Promise<void> {
    if (!(await findReadable(id, user)) && !(await findReadableDeletion(id, user)))
      throw await notFoundFailure(id, user)
  }

  async function readHistory(
    id: number,
    limit: number,
    before: number | undefined,
    caller: Caller,
  ): Promise<HistoryPage<HistoryItem>> {
    await requireReach(id, caller)
    const { entries, hasMore } = await journal.readPage(id, limit, before)
    // A field that the file no longer has may have been for some roles only.
    const isAdmin = caller.roles.includes(ADMIN)
    const data = entries.map((entry): HistoryItem => {
      const { change, version, operation, by, at, batch } = entry
      const shown = journal
        .shownValues(entry)
        .filter(([name]) => isAdmin || model.fields.some((one) => one.name === name))
      const changes = Object.fromEntries(shown.map(([name, values]) => [name, values ?? {}]))
      return { change, version, operation, by, at, ...(batch !== null && { batch }), changes }
    })
    const last = data.at(-1)?.change
    return createHistoryPage(data, { limit, before, hasMore, last }, () =>
      journal.countEntries(id, searchOptions(caller)),
    )
  }

  /** A record at a former version, even if it has been deleted since. */
  async function readVersion(
    id: number,
    number: number,
    { fields = names, expand }: Selection,
    caller: Caller,
  ): Promise<StoredRecord> {
    if (expand.length > 0) throw badRequest('"expand" is about records as they are, and "version" about one as it was.')
    await requireReach(id, caller)
    const record = await journal.toRecord(await stateAtVersion(id, number, caller), id, number)
    return { id, version: number, ...Object.fromEntries(fields.map((name) => [name, record[name]])) }
  }

  async function stateAtVersion(
    id: number,
    number: number,
    caller: Caller,
    current = () => findReadable(id, caller),
  ): Promise<Row> {
    // Rebuilding an old version may take long, so the requests of one user run one at a time.
    const state = await limits.history.run(caller.username, () =>
      journal.stateAtVersion(id, number, current, searchOptions(caller)),
    )
    if (state) return state
    throw new Failure('VERSION_NOT_FOUND', `Version ${number} of ${model.name} ${id} is not kept.`)
  }

  /** A version with all visible fields; undefined if it is not kept, or if a value no longer fits its field's type. */
  async function recordAt(
    id: number,
    number: number,
    caller: Caller,
    current: () => MaybePromise<StoredRecord | undefined>,
  ) {
    const now = await current()
    if (now?.version === number) return now
    const state = await journal.stateAtVersion(id, number, current, searchOptions(caller))
    const fits = (field: Field) =>
      isOfType(field, state?.[field.name] ?? null) || (state?.[field.name] ?? null) === null
    return state && visibleFields(model).every(fits) ? journal.toRecord(state, id, number) : undefined
  }

  const nextVersion = (deletion: Pick<ChangeRow, 'change' | 'version'>) => restoredVersion(storage, deletion)

  return {
    readHistory,
    readVersion,
    stateAtVersion,
    recordAt,
    findReadableDeletion,
    couldRead,
    isReadable,
    nextVersion,
    notFoundFailure,
  }
}

export type History = ReturnType<typeof createHistory>
