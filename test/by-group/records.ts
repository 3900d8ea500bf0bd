import { RECORDS, runTogether, withoutThreads } from '../groups.ts'

await runTogether(withoutThreads(RECORDS))
