export { inGroups } from '../../lib/in-groups.ts'
