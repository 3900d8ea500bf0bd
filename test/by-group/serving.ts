import { runTogether, SERVING } from '../groups.ts'

await runTogether(SERVING)
