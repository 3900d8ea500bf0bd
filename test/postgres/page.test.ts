import { runOnPostgres } from './run-on-postgres.ts'

await runOnPostgres(['page/together', 'page/corners'])
