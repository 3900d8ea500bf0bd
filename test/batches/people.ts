import { PEOPLE, runTogether } from '../groups.ts'

await runTogether(PEOPLE)
