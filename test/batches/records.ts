import { RECORDS, runTogether } from '../groups.ts'

await runTogether(RECORDS)
