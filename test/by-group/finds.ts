import { FINDS, runTogether } from '../groups.ts'

await runTogether(FINDS)
