import { sql } from 'kysely'
import { inGroups } from '../lib/in-groups.ts'
import { type Model, tableName } from '../model/model.ts'
import { type Database, DatabaseError, type Row, type TableColumn, type TableState } from '../storage/storage.ts'
import { isUnfinished, markFinished, markUnfinished, requireMover } from '../storage/unfinished.ts'
import { columnTypes } from './columns.ts'
import { createTable } from './ddl.ts'
import { execute } from './execute.ts'
import { isOrderColumn } from './order-columns.ts'
import { hiddenColumns } from './plan-renames.ts'

/** A table that is copied to another database row by row, whatever the two engines are. */
export interface CopiedTable {
  table: string
  columns: string[]
  /** column that the rows are sorted by */
  order: string
  /** whether `order` is a number, so that large tables can be read in portions */
  isNumbered: boolean
}

/** Order of insertion, for rows without a number of their own. */
const ROWID = 'rowid'

/** The service's own tables, referenced ones first. Rows that `migrate` derives (counts, shapes) are not copied. */
export const OWN_TABLES: CopiedTable[] = [
  ownTable('dossier_users', 'username password roles enabled createdOn lastLogin lastAddress attributes rightsSince'),
  ownTable('dossier_former', 'username'),
  ownTable('dossier_sessions', 'id username createdOn lastSeen address'),
  ownTable('dossier_attempts', 'id username address at', true),
  ownTable('dossier_keys', 'key username hash at tables rows'),
  ownTable('dossier_tokens', 'id hash username name readOnly createdOn expires lastUsed', true),
  ownTable('dossier_views', 'id version model name owner role kind query isFirst createdOn updatedOn', true),
  ownTable('dossier_model_files', 'id model kind content author at', true),
  ownTable('dossier_migrations', 'id at model steps fileHash', true),
  { ...ownTable('dossier_renames', 'change model earlier later'), order: ROWID },
  ownTable('dossier_secrets', 'model field upTo done isOpen'),
  ownTable('dossier_restores', 'change gap'),
  ownTable('dossier_changes', 'change model id version operation by at createdBy batch fields was became whole', true),
]

function ownTable(table: string, names: string, isNumbered = false): CopiedTable {
  const columns = names.split(' ')
  return { table, columns, order: columns[0] as string, isNumbered }
}

/** A model's table, and how to create it in the target. `model` is undefined if its file was removed. */
export interface CopiedModelTable extends CopiedTable {
  model: Model | undefined
  hidden: TableColumn[]
}

export async function tablesToCopy(db: Database, models: Model[]): Promise<CopiedModelTable[]> {
  const moved: CopiedModelTable[] = []
  for (const name of await db.dialect.tables.modelTables(db)) {
    const table = (await db.dialect.tables.readTable(db, name)) as TableState
    const stored = table.columns.filter(({ name, generated }) => generated === undefined && !isOrderColumn(name))
    const model = models.find((one) => tableName(one) === name)
    const hidden = hiddenColumns(model ?? ({ fields: [] } as unknown as Model), stored)
    moved.push({
      table: name,
      columns: stored.map((column) => column.name),
      order: 'id',
      isNumbered: true,
      model,
      hidden,
    })
  }
  return moved
}

/** The job that begins a move and marks the target as unfinished. Drops what an earlier unfinished move left. */
export async function prepareTarget(db: Database, token: string): Promise<void> {
  if (!(await isUnfinished(db))) {
    await requireEmpty(db)
    await markUnfinished(db, token)
    return
  }
  await markUnfinished(db, token)
  for (const table of await db.dialect.tables.modelTables(db)) await execute(db, db.dialect.tables.dropTable(table))
  const made = ['dossier_counts', 'dossier_tables', ...(db.dialect.tables.isShared ? ['dossier_models'] : [])]
  for (const table of [...OWN_TABLES.map((one) => one.table).reverse(), ...made])
    await execute(db, `DELETE FROM ${table}`)
}

async function requireEmpty(db: Database): Promise<void> {
  const user = await db.selectFrom('dossier_users').select('username').limit(1).executeTakeFirst()
  const tables = await db.dialect.tables.modelTables(db)
  if (user || tables.length > 0)
    throw new DatabaseError('There is something already where this is to go. Name an empty place.')
}

/** The job that ends a move and removes the mark. */
export const finishMove = (db: Database, token: string): Promise<void> => markFinished(db, token)

/** The job that creates the tables without indexes and triggers, which `migrate` adds after the copy. */
export async function createTables(
  db: Database,
  { tables, token }: { tables: CopiedModelTable[]; token: string },
): Promise<void> {
  await requireMover(db, token)
  const types = tables.flatMap(({ model, hidden }) => [
    ...columnTypes(model?.fields ?? []),
    ...hidden.map(({ type }) => type),
  ])
  for (const text of db.dialect.tables.createTypes([...new Set(types)])) await execute(db, text)
  for (const { table, model, hidden } of tables) {
    // Without indexes there are no columns of order keys either.
    const described = { name: table, fields: [], ...model, unique: [], indexes: [] } as unknown as Model
    await execute(db, createTable(described, db.dialect.tables, table, hidden))
  }
}

/** Maximum of bound values per statement; engines limit them. */
const MAX_VALUES = 20_000

export interface RowsToInsert {
  table: string
  columns: string[]
  rows: Row[]
  token: string
}

/** The job that inserts some rows into a table. */
export async function insertRows(db: Database, { table, columns, rows, token }: RowsToInsert) {
  await requireMover(db, token)
  const maxRows = Math.floor(MAX_VALUES / columns.length)
  for (const some of inGroups(rows, maxRows)) await db.insertInto(table).values(some).execute()
}

/** The job that continues the sequences after the source's last numbers, so that no number is assigned twice. */
export async function setLastNumbers(
  db: Database,
  numbers: { table: string; order: string; last: number }[],
): Promise<void> {
  for (const { table, order, last } of numbers)
    for (const text of db.dialect.tables.setLastNumber(table, order, last)) await execute(db, text)
}

export async function readLastNumber(db: Database, { table, order }: CopiedTable): Promise<number> {
  const { rows } = await execute(db, db.dialect.tables.lastNumber(table, order))
  return (rows[0] as { last: number }).last
}

/** Rows per query. */
const PORTION = 2000

/** All rows of a table: in portions if `isNumbered`, otherwise at once. */
export async function* readPortions(db: Database, moved: CopiedTable): AsyncGenerator<Row[]> {
  if (!moved.isNumbered) return yield await readAll(db, moved)
  const { table, columns, order } = moved
  let last = Number.MIN_SAFE_INTEGER
  for (let size = PORTION; size === PORTION; ) {
    const { rows } = await sql<Row>`
      SELECT ${columnList(columns)} FROM ${sql.table(table)} WHERE ${sql.ref(order)} > ${last}
      ORDER BY ${sql.ref(order)} LIMIT ${PORTION}`.execute(db)
    yield rows
    size = rows.length
    last = (rows.at(-1)?.[order] as number) ?? last
  }
}

/** Sorts here, not in SQL, because engines sort texts differently. */
async function readAll(db: Database, { table, columns, order }: CopiedTable): Promise<Row[]> {
  const inOrder = order === ROWID ? sql`ORDER BY rowid` : sql``
  const { rows } = await sql<Row>`SELECT ${columnList(columns)} FROM ${sql.table(table)} ${inOrder}`.execute(db)
  if (order === ROWID) return rows
  const keyed = rows.map((row) => ({ row, key: JSON.stringify(columns.map((name) => row[name])) }))
  return keyed.sort((a, b) => (a.key < b.key ? -1 : 1)).map(({ row }) => row)
}

const columnList = (columns: string[]) => sql.join(columns.map((name) => sql.ref(name)))
