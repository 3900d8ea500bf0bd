import { PAST, runTogether } from '../groups.ts'

await runTogether(PAST)
