import { CompiledQuery } from 'kysely'
import type { Model } from '../model/model.ts'
import type { Database, Row, Storage } from '../storage/storage.ts'
import { formerName } from '../tables/renames-and-secrets.ts'

/** One row of the journal, as it is stored. */
export interface ChangeRow {
  change: number
  id: number
  version: number
  operation: JournalOperation
  by: string | null
  at: string
  createdBy: string | null
  /** the number of the batch that it was a part of */
  batch: number | null
  /** names as JSON, in order; a secret is in an array of its own, and has no values */
  fields: string
  was: string | null
  became: string | null
  whole?: string | null
}

export type JournalOperation = 'create' | 'update' | 'delete' | 'restore' | 'forget'

/** What a field was and what it became; undefined if that is not kept: of a secret, or of what was forgotten. */
export type Values = { from: unknown; to: unknown } | undefined

/** A change, in today's names. */
export interface Entry extends Pick<ChangeRow, 'change' | 'version' | 'operation' | 'by' | 'at' | 'batch'> {
  values: Map<string, Values>
  isForgotten: boolean
  /** the record after it, every so often */
  whole: Row | undefined
}

interface Rename {
  change: number
  earlier: string
  later: string
}

/** The columns of an entry; a whole record is large, and wanted seldom. */
export const ENTRY_COLUMNS = 'change, id, version, operation, "by", at, "createdBy", batch, fields, was, became'
/** The changes of one record. */
export const OF_RECORD = 'FROM dossier_changes WHERE model = ? AND id = ?'

const RENAMES = 'SELECT change, earlier, later FROM dossier_renames WHERE model = ? ORDER BY change, rowid'

/** The same where tables are worked on. */
export const readRenames = async (db: Database, model: string): Promise<Rename[]> =>
  (await db.executeQuery(CompiledQuery.raw(RENAMES, [model]))).rows as Rename[]

const SECRETS = 'SELECT field, "upTo" FROM dossier_secrets WHERE model = ?'

/**
 * Reads rows of a model's journal. A field that has been renamed since is called by its name of today. What a field held
 * before it became a secret is not shown, whether it has been taken out already or not, and whatever the field is now.
 */
export function createEntryReader(storage: Storage, model: Model) {
  const secrets = new Set(model.fields.filter(({ writeOnly }) => writeOnly).map(({ name }) => name))

  return async function entries(rows: Row[]): Promise<Entry[]> {
    const renames = (await storage.read({ sql: RENAMES, parameters: [model.name] })) as unknown as Rename[]
    const known = await storage.read({ sql: SECRETS, parameters: [model.name] })
    const secretUpTo = new Map(known.map(({ field, upTo }) => [field as string, upTo as number]))
    return (rows as unknown as ChangeRow[]).map((row) => decodeEntry(row, renames, secretUpTo))
  }

  function decodeEntry(row: ChangeRow, renames: Rename[], secretUpTo: Map<string, number>): Entry {
    const { change, version, operation, by, at, batch, was, became, whole } = row
    const nameNow = (name: string) => todaysName(name, change, renames)
    const isSecret = (name: string) => secrets.has(name) || change <= (secretUpTo.get(name) ?? -1)
    const isForgotten = was === null && became === null && operation !== 'forget'
    const values = new Map<string, Values>()
    const from = parsed(was)
    const to = parsed(became)
    let index = 0
    for (const name of JSON.parse(row.fields) as (string | [string])[]) {
      if (typeof name !== 'string') values.set(nameNow(name[0]), undefined)
      else {
        const isKept = !isForgotten && !isSecret(nameNow(name))
        values.set(nameNow(name), isKept ? { from: from[index] ?? null, to: to[index] ?? null } : undefined)
        index++
      }
    }
    const record = whole
      ? Object.entries(JSON.parse(whole))
          .map(([name, value]): [string, unknown] => [nameNow(name), value])
          .filter(([name]) => !isSecret(name))
      : undefined
    return {
      change,
      version,
      operation,
      by,
      at,
      batch,
      values,
      isForgotten,
      whole: record && Object.fromEntries(record),
    }
  }
}

const parsed = (text: string | null): unknown[] => (text === null ? [] : JSON.parse(text))

/** Names that were given since, in their order. A field that was gone when another one took its name is called otherwise. */
export function todaysName(name: string, change: number, renames: Rename[]): string {
  return renames.reduce((now, rename) => {
    if (rename.change < change) return now
    if (rename.earlier === now) return rename.later
    return rename.later === now ? formerName(now, rename.change) : now
  }, name)
}
