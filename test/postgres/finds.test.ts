import { runOnPostgres } from './run-on-postgres.ts'

await runOnPostgres([
  'plugins/find',
  'plugins/oracle',
  'plugins/slow',
  'plugins/export',
  'plugins/import',
  'records/advice',
])
