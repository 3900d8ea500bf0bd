/** The one place that says which engine there is. */
export { backupDatabase } from './sqlite/backup.ts'
export { databaseFile, requireDatabase } from './sqlite/connections.ts'
export { DIALECT } from './sqlite/dialect.ts'
export { restoreDatabase } from './sqlite/restore.ts'
export { inspect, openStorage } from './sqlite/sqlite.ts'
