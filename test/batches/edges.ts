import { EDGES, OUTSIDE, runTogether } from '../groups.ts'

await runTogether([...EDGES, ...OUTSIDE])
