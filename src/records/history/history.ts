import { Failure } from '../../errors.ts'
import type { ChangeRow, Entry, Values } from '../../journal/entry.ts'
import type { Journal } from '../../journal/journal.ts'
import { versionAfter } from '../../journal/restores.ts'
import { InTurn } from '../../lib/keyed-mutex.ts'
import { type Person, reaches, reachOf } from '../../model/access.ts'
import { type Field, isOfType, type Model, visibleFields } from '../../model/model.ts'
import { bad, type View } from '../../requests/query.ts'
import type { Row, Soon } from '../../storage/storage.ts'
import type { Asker } from '../caller.ts'
import type { Stored, Surroundings } from '../context.ts'

/** One change as somebody reads it. */
export interface Happened extends Pick<Entry, 'change' | 'version' | 'operation' | 'by' | 'at'> {
  batch?: number
  changes: Record<string, NonNullable<Values> | object>
}

/** A page of what has happened, the newest first. */
export interface PageOfPast<Item> {
  total: number
  next?: string
  data: Item[]
}

interface Asked {
  limit: number
  /** the change before which it begins */
  after: number | undefined
  hasMore: boolean
  /** the last change that is on it */
  last: number | undefined
}

/** A page that begins at the newest and is not full is all there is. */
export async function pageOf<Item>(
  data: Item[],
  { limit, after, hasMore, last }: Asked,
  count: () => Promise<number>,
): Promise<PageOfPast<Item>> {
  const isAll = after === undefined && !hasMore && limit > 0
  const total = isAll ? data.length : await count()
  return { total, ...(hasMore && last !== undefined && { next: String(last) }), data }
}

const turns = new InTurn()

/** How a record is looked up: undefined if it is not there, or out of reach. */
export type LookUp = (id: number, person: Person) => Promise<Stored | undefined>

/** What the records of a model were, for those who may read what they are. */
export function pastOf(surroundings: Surroundings, model: Model, journal: Journal, lookUp: LookUp) {
  const { storage, findSeconds } = surroundings
  const names = visibleFields(model).map(({ name }) => name)
  const waiting = ({ username, gone }: Asker) => ({ username, gone, seconds: findSeconds })

  /** The delete of a record that somebody could have read. */
  async function deletion(id: number, person: Person): Promise<ChangeRow | undefined> {
    const last = await journal.deletion(id)
    return last && reaches(reachOf(model, 'read', person), { createdBy: last.createdBy }) ? last : undefined
  }

  /** Why there is no such record, as far as somebody may know. */
  async function notThere(id: number, person: Person): Promise<Failure> {
    const last = await deletion(id, person)
    const what = last ? `: ${last.by ?? 'somebody at the database'} deleted it at ${last.at}` : ''
    return new Failure('RECORD_NOT_FOUND', `There is no ${model.name} with the id ${id}${what}.`)
  }

  async function requireReach(id: number, person: Person): Promise<void> {
    if (!(await lookUp(id, person)) && !(await deletion(id, person))) throw await notThere(id, person)
  }

  async function history(
    id: number,
    limit: number,
    after: number | undefined,
    asker: Asker,
  ): Promise<PageOfPast<Happened>> {
    await requireReach(id, asker)
    const { entries, hasMore } = await journal.page(id, limit, after)
    const data = entries.map((entry): Happened => {
      const { change, version, operation, by, at, batch } = entry
      const changes = Object.fromEntries(journal.shownValues(entry).map(([name, values]) => [name, values ?? {}]))
      return { change, version, operation, by, at, ...(batch !== null && { batch }), changes }
    })
    const last = data.at(-1)?.change
    return pageOf(data, { limit, after, hasMore, last }, () => journal.total(id, waiting(asker)))
  }

  /** A record as it was, also of one that has been deleted since. */
  async function version(id: number, number: number, { fields = names, expand }: View, asker: Asker): Promise<Stored> {
    if (expand.length > 0) throw bad('"expand" is about records as they are, and "version" about one as it was.')
    await requireReach(id, asker)
    const record = await journal.recordOf(await stateAt(id, number, asker), id, number)
    return { id, version: number, ...Object.fromEntries(fields.map((name) => [name, record[name]])) }
  }

  async function stateAt(id: number, number: number, asker: Asker, current = () => lookUp(id, asker)): Promise<Row> {
    // It may be a long way back: one person's take turns among themselves.
    const state = await turns.run(asker.username, () => journal.stateAt(id, number, current, waiting(asker)))
    if (state) return state
    throw new Failure('VERSION_NOT_FOUND', `Version ${number} of ${model.name} ${id} is not kept.`)
  }

  /** A record with all that is shown of it; undefined if that version is not kept, or has values of other types. */
  async function recordAt(id: number, number: number, asker: Asker, current: () => Soon<Stored | undefined>) {
    const now = await current()
    if (now?.version === number) return now
    const state = await journal.stateAt(id, number, current, waiting(asker))
    const fits = (field: Field) =>
      isOfType(field, state?.[field.name] ?? null) || (state?.[field.name] ?? null) === null
    return state && visibleFields(model).every(fits) ? journal.recordOf(state, id, number) : undefined
  }

  const nextVersion = (deletion: ChangeRow) => versionAfter(storage, deletion)

  return { history, version, stateAt, recordAt, deletion, versionAfter: nextVersion, notThere }
}

export type Past = ReturnType<typeof pastOf>
