import { runOnPostgres } from './run-on-postgres.ts'

await runOnPostgres([
  'plugins/access',
  'plugins/auth',
  'plugins/logins',
  'plugins/users',
  'plugins/tokens',
  'plugins/trail',
  'plugins/state',
  'plugins/metrics',
  'people/users',
])
