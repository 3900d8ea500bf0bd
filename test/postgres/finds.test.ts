import { FINDS } from '../groups.ts'
import { runOnPostgres } from './run-on-postgres.ts'

await runOnPostgres(FINDS, true)
