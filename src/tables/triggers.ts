import { type Model, type Reference, tableName } from '../model/model.ts'
import type { Database, TableDialect, TableState, Trigger } from '../storage/storage.ts'
import { countTriggers } from './counts.ts'
import { quote } from './ddl.ts'
import { type HiddenColumn, journalTriggers } from './journal.ts'

/** The names of ours end in these words. */
const OURS = ['count', 'clear', 'unserved', 'journal']

/** Whether a trigger is there just as it should be. */
export const isAmong = (wanted: Trigger, others: Trigger[]) =>
  others.some(({ name, sql: text }) => name === wanted.name && text === wanted.sql)

/** Every trigger that a model wants. */
export const createTriggers = (model: Model, dialect: TableDialect, hidden: HiddenColumn[] = []): Trigger[] => [
  ...countTriggers(tableName(model), dialect),
  ...clearTriggers(model, dialect),
  ...journalTriggers(model, dialect, hidden),
]

/**
 * A cleared reference is an update of the record that refers, by whoever deletes: its version grows, once however many
 * of its references lead there. The foreign key alone would do nothing of that.
 */
function clearTriggers(model: Model, dialect: TableDialect): Trigger[] {
  const fields = model.fields.filter((field) => field.reference?.onDelete === 'clear')
  const byTarget = Map.groupBy(fields, (field) => tableName({ name: (field.reference as Reference).model }))
  return [...byTarget].map(([target, group]) => {
    const table = tableName(model)
    const columns = group.map(({ name }) => quote(name))
    const set = [
      ...columns.map((column) => `${column} = nullif(${column}, OLD."id")`),
      '"version" = "version" + 1',
      ...(model.audit ? [`"updatedOn" = ${dialect.now}`, `"updatedBy" = ${dialect.actor.by}`] : []),
    ]
    const isConcerned = columns.map((column) => `${column} = OLD."id"`).join(' OR ')
    // A record that refers to itself goes: it must not be changed while it does.
    const where = `(${isConcerned})${target === table ? ' AND "id" <> OLD."id"' : ''}`
    const body = `UPDATE ${quote(table)} SET ${set.join(', ')} WHERE ${where}`
    return beforeDelete([table, target, 'clear'], target, body, dialect)
  })
}

/**
 * What has no file any more is neither changed nor deleted: its records hold up the delete of what they refer to,
 * whatever the file said when it was there.
 */
export function unservedTriggers({ name: table, columns }: TableState, dialect: TableDialect): Trigger[] {
  return columns.flatMap(({ name, foreignKey }) => {
    if (!foreignKey || foreignKey.onDelete === 'NO ACTION') return []
    const refers = `EXISTS (SELECT 1 FROM ${quote(table)} WHERE ${quote(name)} = OLD."id")`
    return [beforeDelete([table, name, 'unserved'], foreignKey.table, dialect.refuseIf(refers), dialect)]
  })
}

function beforeDelete(words: string[], on: string, body: string, dialect: TableDialect): Trigger {
  const name = words.join('__')
  return { name, sql: dialect.trigger({ name, when: 'BEFORE', event: 'DELETE', on, body }) }
}

/** Those of ours that there are. */
export async function readOwnTriggers(db: Database): Promise<Trigger[]> {
  const all = await db.dialect.tables.readTriggers(db)
  return all.filter(({ name }) => OURS.includes(name.split('__').at(-1) as string))
}
