import { PAST, runTogether, withoutThreads } from '../groups.ts'

await runTogether(withoutThreads(PAST))
