import { runTogether, SERVICE } from '../groups.ts'

await runTogether(SERVICE)
