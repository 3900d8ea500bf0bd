import { dirname } from 'node:path'
import { isRead } from '../kysely.ts'
import type { Row, ThreadReads } from '../storage.ts'
import { openReader } from './connections.ts'
import { DIALECT } from './dialect.ts'
import { createDatabase } from './kysely.ts'
import { Reader } from './reader.ts'
import { cookieSecret } from './secret.ts'

/** Opens the reads of a serving thread from the value that `SqliteStorage.threadReads` has in the main thread. */
export function openThreadReads({ file, commits }: { file: string; commits: Int32Array }): ThreadReads {
  const reader = new Reader(openReader(file), commits)
  return {
    dialect: DIALECT,
    read: (statement) => reader.all(statement),
    readOne: (statement) => reader.first(statement),
    readUpTo: (statement, bytes) => reader.upTo(statement, bytes),
    shape: (table) => reader.shape(table),
    refreshShapes: async () => {},
    snapshotId: () => reader.snapshotId(),
    needsScan: (statement, table) => reader.needsScan(statement, table),
    secret: () => cookieSecret(dirname(file)),
    createDatabase: (write) =>
      createDatabase(async (query) => {
        if (isRead(query)) return reader.all(query)
        const [rows] = await write({ steps: [query] })
        return rows as Row[]
      }),
    holdSnapshot: () => reader.holdSnapshot(),
    releaseSnapshot: () => reader.releaseSnapshot(),
    close: () => reader.close(),
  }
}
