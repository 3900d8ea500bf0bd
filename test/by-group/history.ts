import { HISTORY, runTogether, withoutThreads } from '../groups.ts'

await runTogether(withoutThreads(HISTORY))
