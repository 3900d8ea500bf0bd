import { HTTP_AND_META } from '../groups.ts'
import { runOnPostgres } from './run-on-postgres.ts'

await runOnPostgres(HTTP_AND_META)
