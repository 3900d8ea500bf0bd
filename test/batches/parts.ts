import { PARTS, runTogether } from '../groups.ts'

await runTogether(PARTS)
