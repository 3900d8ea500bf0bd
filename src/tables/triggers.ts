import { fieldReference, linkTable, type Model, type Reference, tableName } from '../model/model.ts'
import type { Database, TableDialect, TableState, Trigger } from '../storage/storage.ts'
import { countTriggers } from './counts.ts'
import { quote } from './ddl.ts'
import { type HiddenColumn, journalTriggers } from './journal-triggers.ts'
import { linkTriggers } from './links.ts'
import { orderTriggers } from './order-columns.ts'
import { searchTriggers } from './search-index.ts'

/** The names of our triggers end in one of these words; `storage/postgres/rebuild-catalog.ts` has those of PostgreSQL. */
const OURS = ['count', 'clear', 'unserved', 'journal', 'linked', 'sorted', 'searched']

/** Whether `others` has the trigger with the same SQL. */
export const hasSameTrigger = (wanted: Trigger, others: Trigger[]) =>
  others.some(({ name, sql: text }) => name === wanted.name && text === wanted.sql)

/** All triggers that a model needs, also those on the tables that it refers to. */
export const modelTriggers = (model: Model, dialect: TableDialect, hidden: HiddenColumn[] = []): Trigger[] => [
  ...countTriggers(tableName(model), dialect),
  ...clearTriggers(model, dialect),
  ...journalTriggers(model, dialect, hidden),
  ...orderTriggers(model, dialect),
  ...searchTriggers(model, dialect),
  ...linkTriggers(model, dialect),
]

/**
 * Clearing a reference is an update of the referring record by the user who deletes. Its version grows by one, however
 * many of its references are cleared. The foreign key alone (SET NULL) would do none of that.
 */
function clearTriggers(model: Model, dialect: TableDialect): Trigger[] {
  const fields = model.fields.filter((field) => fieldReference(field)?.onDelete === 'clear')
  const byTarget = Map.groupBy(fields, (field) => tableName({ name: (fieldReference(field) as Reference).model }))
  return [...byTarget].map(([target, group]) => {
    const table = tableName(model)
    const set = [
      ...group.map(({ name, links }) => {
        const column = quote(name)
        // Qualified by the table: SQLite would take a field such as `key` or `value` for a column of `json_each`.
        const ids = `${quote(table)}.${column}`
        return `${column} = ${links ? dialect.withoutItem(ids, 'OLD."id"') : `nullif(${column}, OLD."id")`}`
      }),
      '"version" = "version" + 1',
      ...(model.audit ? [`"updatedOn" = ${dialect.now}`, `"updatedBy" = ${dialect.actor.by}`] : []),
    ]
    const isConcerned = group
      .map((field) =>
        field.links
          ? `"id" IN (SELECT "record" FROM ${quote(linkTable(model, field))} WHERE "target" = OLD."id")`
          : `${quote(field.name)} = OLD."id"`,
      )
      .join(' OR ')
    // Records that are being deleted must not be updated meanwhile: the record itself, and those that a cascade deletes
    // with it, because the one that they refer to is gone already.
    const stays = [
      ...(target === table ? ['"id" <> OLD."id"'] : []),
      ...model.fields
        .filter(({ reference }) => reference?.onDelete === 'cascade')
        .map(({ name, reference }) => {
          const column = `${quote(table)}.${quote(name)}`
          const parent = quote(tableName({ name: (reference as Reference).model }))
          return `(${column} IS NULL OR EXISTS (SELECT 1 FROM ${parent} AS parent WHERE parent."id" = ${column}))`
        }),
    ]
    const where = [`(${isConcerned})`, ...stays].join(' AND ')
    const body = `UPDATE ${quote(table)} SET ${set.join(', ')} WHERE ${where}`
    return beforeDelete([table, target, 'clear'], target, body, dialect)
  })
}

/**
 * Records whose model file was removed are neither changed nor deleted. They block the delete of the records that they
 * refer to, whatever `onDelete` said; NO ACTION does so without a trigger.
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

/** Reads our triggers from the database. */
export async function readOwnTriggers(db: Database): Promise<Trigger[]> {
  const all = await db.dialect.tables.readTriggers(db)
  return all.filter(({ name }) => OURS.includes(name.split('__').at(-1) as string))
}
