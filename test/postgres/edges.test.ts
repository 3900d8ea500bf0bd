import { runOnPostgres } from './run-on-postgres.ts'

await runOnPostgres([
  'plugins/fuzz',
  'plugins/security',
  'plugins/cors',
  'plugins/errors',
  'plugins/meta',
  'plugins/openapi',
  'plugins/page',
])
