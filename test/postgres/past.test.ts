import { runOnPostgres } from './run-on-postgres.ts'

await runOnPostgres([
  'plugins/history',
  'plugins/changes',
  'journal/models',
  'journal/hidden',
  'journal/oracle',
  'records/round-trip',
])
