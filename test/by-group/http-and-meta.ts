import { HTTP_AND_META, runTogether, SQLITE_ONLY } from '../groups.ts'

await runTogether([...HTTP_AND_META, ...SQLITE_ONLY])
