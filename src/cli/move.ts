import { randomUUID } from 'node:crypto'
import { resolve } from 'node:path'
import { isDeepStrictEqual, parseArgs } from 'node:util'
import { type Config, loadConfig } from '../config.ts'
import { loadModels } from '../filters/load-models.ts'
import type { Model } from '../model/model.ts'
import {
  type DatabaseLocation,
  inspectDatabase,
  openEvenUnfinished,
  openStorage,
  requireDatabase,
  requireStopped,
} from '../storage/open.ts'
import { type Database, DatabaseError, defineJob, type Row, type Storage } from '../storage/storage.ts'
import {
  type CopiedModelTable,
  type CopiedTable,
  OWN_TABLES,
  type RowsToInsert,
  readLastNumber,
  readPortions,
  tablesToCopy,
} from '../tables/copy-tables.ts'
import { migrate } from '../tables/migrate.ts'
import { createMigrationPlan, isUpToDate } from '../tables/migration-plan.ts'
import { type Command, type CommandContext, resolveFile, runCommand, UsageError } from './command.ts'
import { createProgress } from './progress.ts'

export const HELP = `Usage: npm run move -- --to PLACE

Copies everything from the database that the settings name into an empty one, and compares every row: to PostgreSQL
(--to postgres://user@host/db), or from there (with DATABASE_URL) into a data folder that has no database yet
(--to FOLDER). Ids, versions, history, users, sessions, tokens and the secret that signs cookies are the same then.
Stop the service first; nothing is changed where it comes from. If it is cut short, run it again: it
starts over. Exit codes: 0 done, 1 refused, 2 wrong usage.
`

const COPY_TABLES = import.meta.resolve('../tables/copy-tables.ts')
const PREPARE_TARGET = defineJob<string, void>(COPY_TABLES, 'prepareTarget')
const FINISH_MOVE = defineJob<string, void>(COPY_TABLES, 'finishMove')
const CREATE_TABLES = defineJob<{ tables: CopiedModelTable[]; token: string }, void>(COPY_TABLES, 'createTables')
const INSERT_ROWS = defineJob<RowsToInsert, void>(COPY_TABLES, 'insertRows')
const SET_LAST_NUMBERS = defineJob<{ table: string; order: string; last: number }[], void>(
  COPY_TABLES,
  'setLastNumbers',
)

export const moveCommand: Command = async (context) => {
  const { values } = parseArgs({ args: context.args, options: { to: { type: 'string' } } })
  if (values.to === undefined) throw new UsageError('Say where to: --to PLACE.')
  const config = loadConfig(context.env, true)
  const to = parseLocation(values.to, config, context)
  requireDatabase(config)
  await requireStopped(config)
  const models = await loadModels(config.MODELS_DIR)
  const key = await readSigningKey(config)
  const target = await openEvenUnfinished(to)
  try {
    const token = randomUUID()
    await target.runWriteJob(PREPARE_TARGET, token)
    const rows = await inspectDatabase(config, (source) => copyRecords(source, target, models, context, token))
    // What a service has written that was started meanwhile would be lost.
    await requireStopped(config)
    await target.setSigningKey(key)
    await target.runWriteJob(FINISH_MOVE, token)
    return `${rows.toLocaleString('en')} rows are copied and compared. Start the service with ${locationName(to)}.\n`
  } finally {
    await target.close()
  }
}

const isUrl = (name: string) => /^postgres(?:ql)?:/.test(name)

function parseLocation(name: string, { DATA_DIR, DATABASE_URL }: Config, context: CommandContext): DatabaseLocation {
  if (isUrl(name) === (DATABASE_URL !== undefined))
    throw new UsageError('One of the two places must be PostgreSQL, and the other a data folder.')
  return isUrl(name) ? { DATA_DIR, DATABASE_URL: name } : { DATA_DIR: resolveFile(name, context) }
}

const locationName = ({ DATA_DIR, DATABASE_URL }: DatabaseLocation) =>
  DATABASE_URL === undefined ? `DATA_DIR=${resolve(DATA_DIR)}` : 'this DATABASE_URL'

async function readSigningKey(place: DatabaseLocation): Promise<string> {
  const storage = await openStorage(place)
  try {
    return await storage.signingKey()
  } finally {
    await storage.close()
  }
}

async function copyRecords(
  source: Database,
  target: Storage,
  models: Model[],
  context: CommandContext,
  token: string,
): Promise<number> {
  if (!isUpToDate(await createMigrationPlan(source, models)))
    throw new DatabaseError('The tables are not what the model files say. Start the service once, and stop it again.')
  const tables = await tablesToCopy(source, models)
  const all: CopiedTable[] = [...tables, ...OWN_TABLES]
  await target.runWriteJob(CREATE_TABLES, { tables, token })
  const total = await countRows(source, all)
  const told = {
    copied: createProgress(context.stderr, 'copied', 'rows'),
    compared: createProgress(context.stderr, 'compared', 'rows'),
  }
  let done = 0
  for (const one of all)
    for await (const rows of readPortions(source, one)) {
      await target
        .runWriteJob(INSERT_ROWS, { table: one.table, columns: one.columns, rows, token })
        .catch((error: Error) => {
          throw new DatabaseError(`${one.table} cannot be copied: ${error.message}. Move again when that is mended.`)
        })
      done += rows.length
      told.copied.tell({ done, of: total })
    }
  told.copied.end()
  const numbers = all.filter(({ isNumbered }) => isNumbered)
  const lasts = []
  for (const one of numbers) lasts.push({ table: one.table, order: one.order, last: await readLastNumber(source, one) })
  await target.runWriteJob(SET_LAST_NUMBERS, lasts)
  await compare(source, target, all, (compared) => told.compared.tell({ done: compared, of: total }))
  told.compared.end()
  // Adds indexes, triggers and counts, and in PostgreSQL the foreign keys.
  await migrate(target, models)
  return done
}

async function countRows(db: Database, all: CopiedTable[]): Promise<number> {
  let total = 0
  for (const { table } of all) {
    const { count } = await db
      .selectFrom(table)
      .select((eb) => eb.fn.countAll<number>().as('count'))
      .executeTakeFirstOrThrow()
    total += count
  }
  return total
}

/** Throws if a copied row differs from its source. */
export async function compare(
  source: Database,
  target: { db: Database },
  all: CopiedTable[],
  onCompared: (rows: number) => void,
): Promise<void> {
  let compared = 0
  for (const one of all) {
    const theirs = readPortions(target.db, one)
    for await (const rows of readPortions(source, one)) {
      const { value: copied } = await theirs.next()
      if (!isDeepStrictEqual(rows.map(plain), (copied as Row[]).map(plain)))
        throw new DatabaseError(`${one.table} is not the same after it was copied. Move again.`)
      compared += rows.length
      onCompared(compared)
    }
  }
}

/** Drivers create rows with different prototypes, which `isDeepStrictEqual` would report as a difference. */
const plain = (row: Row): Row => ({ ...row })

if (import.meta.main) await runCommand(HELP, moveCommand)
