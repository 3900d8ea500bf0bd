import { sql } from 'kysely'
import { type Model, type Reference, tableOf } from '../model/model.ts'
import { DANGLING, type Database } from '../storage/storage.ts'
import { countTriggers } from './counts.ts'
import { quote } from './ddl.ts'
import { journalTriggers } from './journal.ts'
import type { TableState } from './state.ts'

/** What the database does by itself when records come and go. The names of ours end in these words. */
export interface Trigger {
  name: string
  sql: string
}

const OURS = ['count', 'clear', 'unserved', 'journal']

/** Whether a trigger is there just as it should be. */
export const isAmong = (wanted: Trigger, others: Trigger[]) =>
  others.some(({ name, sql: text }) => name === wanted.name && text === wanted.sql)

/** Every trigger that a model wants. */
export const triggersOf = (model: Model): Trigger[] => [
  ...countTriggers(tableOf(model)),
  ...clearTriggers(model),
  ...journalTriggers(model),
]

/**
 * A cleared reference is an update of the record that refers, by whoever deletes: its version grows, once however many
 * of its references lead there. The foreign key alone would do nothing of that.
 */
function clearTriggers(model: Model): Trigger[] {
  const fields = model.fields.filter((field) => field.reference?.onDelete === 'clear')
  const byTarget = Map.groupBy(fields, (field) => tableOf({ name: (field.reference as Reference).model }))
  return [...byTarget].map(([target, group]) => {
    const table = tableOf(model)
    const columns = group.map(({ name }) => quote(name))
    const set = [
      ...columns.map((column) => `${column} = nullif(${column}, OLD."id")`),
      '"version" = "version" + 1',
      ...(model.audit
        ? [`"updatedOn" = strftime('%Y-%m-%dT%H:%M:%fZ', 'now')`, '"updatedBy" = (SELECT username FROM dossier_actor)']
        : []),
    ]
    const isConcerned = columns.map((column) => `${column} = OLD."id"`).join(' OR ')
    // A record that refers to itself goes: it must not be changed while it does.
    const where = `(${isConcerned})${target === table ? ' AND "id" <> OLD."id"' : ''}`
    return trigger([table, target, 'clear'], target, `UPDATE ${quote(table)} SET ${set.join(', ')} WHERE ${where};`)
  })
}

/**
 * What has no file any more is neither changed nor deleted: its records hold up the delete of what they refer to,
 * whatever the file said when it was there.
 */
export function unservedTriggers(table: string, { columns }: TableState): Trigger[] {
  return columns.flatMap(({ name, foreignKey }) => {
    if (!foreignKey || foreignKey.onDelete === 'NO ACTION') return []
    const refers = `EXISTS (SELECT 1 FROM ${quote(table)} WHERE ${quote(name)} = OLD."id")`
    const raise = `SELECT RAISE(ABORT, '${DANGLING}') WHERE ${refers};`
    return [trigger([table, name, 'unserved'], foreignKey.table, raise)]
  })
}

function trigger(words: string[], on: string, body: string): Trigger {
  const name = words.join('__')
  return { name, sql: `CREATE TRIGGER ${quote(name)} BEFORE DELETE ON ${quote(on)} BEGIN ${body} END` }
}

/** Those of ours that there are. */
export async function readTriggers(db: Database): Promise<Trigger[]> {
  const { rows } = await sql<Trigger>`SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'`.execute(db)
  return rows.filter(({ name }) => OURS.includes(name.split('__').at(-1) as string))
}
