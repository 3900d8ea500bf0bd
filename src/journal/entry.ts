import { CompiledQuery } from 'kysely'
import type { Model } from '../model/model.ts'
import type { Database, Row, Storage } from '../storage/storage.ts'
import { formerName } from '../tables/renames-and-secrets.ts'

/** One stored row of the journal. */
export interface ChangeRow {
  change: number
  id: number
  version: number
  operation: JournalOperation
  by: string | null
  at: string
  createdBy: string | null
  /** number of the batch that the change was part of */
  batch: number | null
  /** JSON array of changed fields, in the order of `was` and `became`; a secret is `[name]`, without values there */
  fields: string
  was: string | null
  became: string | null
  whole?: string | null
}

export type JournalOperation = 'create' | 'update' | 'delete' | 'restore' | 'forget'

/** Values of a field before and after a change; undefined for a secret, or if the values were forgotten. */
export type FieldChange = { from: unknown; to: unknown } | undefined

/** A decoded change, with today's field names. */
export interface Entry extends Pick<ChangeRow, 'change' | 'version' | 'operation' | 'by' | 'at' | 'batch'> {
  values: Map<string, FieldChange>
  isForgotten: boolean
  /** the whole record after the change; stored only at every 64th version (WHOLE_EVERY) */
  whole: Row | undefined
}

interface Rename {
  change: number
  earlier: string
  later: string
}

/** The columns of an entry without `whole`, which is large and rarely needed. */
export const ENTRY_COLUMNS = 'change, id, version, operation, "by", at, "createdBy", batch, fields, was, became'
/** SQL for the changes of one record. */
export const FROM_RECORD_CHANGES = 'FROM dossier_changes WHERE model = ? AND id = ?'

const RENAMES = 'SELECT change, earlier, later FROM dossier_renames WHERE model = ? ORDER BY change, rowid'

/** The renames of a model's fields, read on the connection of a job. */
export const readRenames = async (db: Database, model: string): Promise<Rename[]> =>
  (await db.executeQuery(CompiledQuery.raw(RENAMES, [model]))).rows as Rename[]

const SECRETS = 'SELECT field, "upTo" FROM dossier_secrets WHERE model = ?'

/**
 * Decodes rows of a model's journal. Renamed fields get their names of today. Values from before a field became a
 * secret are hidden, even if they have not been scrubbed yet, and even if the field is no secret today.
 */
export function createEntryDecoder(storage: Storage, model: Model) {
  const secrets = new Set(model.fields.filter(({ writeOnly }) => writeOnly).map(({ name }) => name))

  return async function decodeEntries(rows: Row[]): Promise<Entry[]> {
    const renames = (await storage.read({ sql: RENAMES, parameters: [model.name] })) as unknown as Rename[]
    const secretRows = await storage.read({ sql: SECRETS, parameters: [model.name] })
    const secretUpTo = new Map(secretRows.map(({ field, upTo }) => [field as string, upTo as number]))
    return (rows as unknown as ChangeRow[]).map((row) => decodeEntry(row, renames, secretUpTo))
  }

  function decodeEntry(row: ChangeRow, renames: Rename[], secretUpTo: Map<string, number>): Entry {
    const { change, version, operation, by, at, batch, was, became, whole } = row
    const nameNow = (name: string) => currentName(name, change, renames)
    const isSecret = (name: string) => secrets.has(name) || change <= (secretUpTo.get(name) ?? -1)
    const isForgotten = was === null && became === null && operation !== 'forget'
    const values = new Map<string, FieldChange>()
    const from = decodeValues(was)
    const to = decodeValues(became)
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

const decodeValues = (text: string | null): unknown[] => (text === null ? [] : JSON.parse(text))

/** Applies later renames to a field name, in order. If another field has taken the name since, uses `formerName`. */
export function currentName(name: string, change: number, renames: Rename[]): string {
  return renames.reduce((now, rename) => {
    if (rename.change < change) return now
    if (rename.earlier === now) return rename.later
    return rename.later === now ? formerName(now, rename.change) : now
  }, name)
}
