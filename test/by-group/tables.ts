import { MEASURED, runTogether } from '../groups.ts'

await runTogether(MEASURED)
