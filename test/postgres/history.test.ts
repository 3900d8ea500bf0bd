import { HISTORY } from '../groups.ts'
import { runOnPostgres } from './run-on-postgres.ts'

await runOnPostgres(HISTORY)
