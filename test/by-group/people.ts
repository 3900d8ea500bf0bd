import { PEOPLE, runTogether, withoutThreads } from '../groups.ts'

await runTogether(withoutThreads(PEOPLE))
