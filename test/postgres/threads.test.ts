import { runOnPostgres } from './run-on-postgres.ts'

await runOnPostgres(['serving/threads'], true)
