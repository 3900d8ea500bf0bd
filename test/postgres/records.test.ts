import { runOnPostgres } from './run-on-postgres.ts'

await runOnPostgres([
  'plugins/records',
  'plugins/values',
  'plugins/matching',
  'plugins/references',
  'plugins/conflicts',
  'plugins/batch',
  'plugins/once',
  'plugins/ended',
  'storage/number-text',
])
