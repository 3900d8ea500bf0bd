import { runTogether, UNITS } from '../groups.ts'

await runTogether(UNITS)
