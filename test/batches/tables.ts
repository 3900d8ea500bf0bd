import { runTogether, TABLES } from '../groups.ts'

await runTogether(TABLES)
