import { runOnPostgres } from './run-on-postgres.ts'

await runOnPostgres(['service'], true)
