import { RECORDS } from '../groups.ts'
import { runOnPostgres } from './run-on-postgres.ts'

await runOnPostgres(RECORDS, true)
