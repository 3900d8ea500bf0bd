/**
 * Test files that run one after the other in one process: to start a process and to import everything takes longer than
 * many a test. Each of them can be run by itself as well. Those that replace something of the whole process stay alone.
 */
export const RECORDS = [
  'plugins/records',
  'plugins/values',
  'plugins/preconditions',
  'plugins/references',
  'plugins/related',
  'plugins/links',
  'plugins/conflicts',
  'plugins/batch',
  'plugins/idempotency',
  'plugins/request-end',
  'plugins/http',
  'plugins/axelor',
  'storage/number-text',
]

export const FINDS = [
  'plugins/find',
  'plugins/oracle',
  'plugins/search',
  'plugins/search-index',
  'plugins/text-order',
  'plugins/aggregate',
  'plugins/slow',
  'plugins/export',
  'plugins/import',
  'plugins/sheets',
  'records/advice',
]

export const HISTORY = [
  'plugins/history',
  'plugins/changes',
  'plugins/undo',
  'journal/models',
  'journal/hidden',
  'journal/oracle',
  'records/round-trip',
]

export const PEOPLE = [
  'plugins/access',
  'plugins/rules',
  'plugins/fields',
  'plugins/rights-oracle',
  'plugins/auth',
  'plugins/logins',
  'plugins/users',
  'plugins/tokens',
  'plugins/views',
  'plugins/model-files',
  'plugins/audit-log',
  'plugins/state',
  'plugins/metrics',
  'people/users',
]

export const HTTP_AND_META = [
  'plugins/fuzz',
  'plugins/security',
  'plugins/errors',
  'plugins/meta',
  'plugins/openapi',
  'plugins/client',
  'plugins/clients',
]

/**
 * Not again on PostgreSQL: they are about headers, the bodies of requests and the files of the page. What they write
 * and read besides is written and read by plugins/records and plugins/tokens as well. Totals are counted more often on
 * a server that others use at the same time; that they are right there is tested by plugins/oracle.
 */
export const SQLITE_ONLY = ['plugins/cors', 'plugins/page', 'plugins/bodies', 'plugins/compress', 'plugins/totals']

/** What needs no service. */
export const UNITS = [
  'lib/calendar-period',
  'lib/fair-limiter',
  'lib/keyed-mutex',
  'lib/json-keys',
  'lib/json-numbers',
  'lib/lines',
  'lib/memo',
  'lib/recent-pages',
  'lib/nearest',
  'lib/retry',
  'lib/seen-texts',
  'lib/limiter',
  'model/formats',
  'model/parse',
  'page/children',
  'page/draft',
  'page/links',
  'page/logic',
  'page/table',
  'page/summary',
  'page/table-groups',
  'http/may-write-to',
  'people/password-queue',
  'tables/ddl',
  'storage/database',
  'storage/decimal',
  'storage/signing-key',
  'logging',
  'import-rules',
  'module-hooks',
  'test-errors',
  'upkeep/task-failures',
  'http/front',
  'http/turns',
  'lib/fold',
  'lib/watch',
  'page/language',
  'page/model-file',
  'xlsx/workbook',
]

/** What works on tables and in threads, without HTTP. */
export const TABLES = [
  'journal/change-streams',
  'model/load',
  'records/batch',
  'records/checked-rows',
  'records/records',
  'storage/backup',
  'storage/checkpointer',
  'storage/damage',
  'storage/search',
  'storage/storage',
  'storage/threads',
  'tables/counts',
  'tables/draft',
  'tables/migrate',
  'tables/sequences',
]

/** Each of them alone in a process, as others are, but begun early: they take long, and mostly wait. */
export const SERVICE = ['service']
export const SERVING = ['serving/threads']

/**
 * Tests of the groups above whose threads are measured: only they reach some lines there. On SQLite they run together
 * with TABLES, because a thread takes twice as long to start if it is measured.
 */
const WITH_THREADS = [
  'journal/hidden',
  'plugins/fields',
  'plugins/http',
  'plugins/links',
  'plugins/model-files',
  'plugins/rules',
  'records/round-trip',
]

/** The tests of a group whose threads are not measured. */
export const withoutThreads = (files: string[]): string[] => files.filter((file) => !WITH_THREADS.includes(file))

export const MEASURED = [...TABLES, ...WITH_THREADS]

/** All that is part of a group. */
export const GROUPED = [
  RECORDS,
  FINDS,
  HISTORY,
  PEOPLE,
  HTTP_AND_META,
  SQLITE_ONLY,
  UNITS,
  TABLES,
  SERVICE,
  SERVING,
].flat()

/**
 * What `npm test -- --quick` leaves out: it takes longer than all others together. Most of it starts processes or
 * threads, kills them, or runs programs of others.
 */
export const LONG = [
  'cli/*',
  'crash/*',
  'docs',
  'http/front',
  'lib/watch',
  'plugins/client',
  'plugins/clients',
  'plugins/export',
  'plugins/import',
  'plugins/model-files',
  'plugins/rights-oracle',
  'plugins/sheets',
  'records/import',
  'records/round-trip',
  'server',
  'service',
  'serving/threads',
  'tables/draft',
  'tables/sequences',
]

export async function runTogether(files: string[]): Promise<void> {
  const isQuick = process.env.TEST_QUICK !== undefined
  for (const file of files) if (!isQuick || !LONG.includes(file)) await import(`./${file}.test.ts`)
}
