import { dirname } from 'node:path'
import { readOrWrite } from '../kysely.ts'
import type { ThreadReads } from '../thread-reads.ts'
import { openReader } from './connections.ts'
import { DIALECT } from './dialect.ts'
import { createKyselyDatabase } from './kysely.ts'
import { Reader } from './reader.ts'
import { readSigningKey } from './signing-key.ts'

/** The data from which a serving thread opens its reads. */
export interface ThreadReadsStart {
  file: string
  /** number of commits of this process, in shared memory */
  commits: Int32Array
}

export function openThreadReads({ file, commits }: ThreadReadsStart): ThreadReads {
  const reader = new Reader(openReader(file), commits)
  return {
    dialect: DIALECT,
    read: (statement) => reader.all(statement),
    readOne: (statement) => reader.first(statement),
    readUpTo: (statement, bytes) => reader.upTo(statement, bytes),
    shape: (table) => reader.shape(table),
    // Shapes belong to a snapshot here.
    refreshShapes: async () => {},
    assumeShapes: () => {},
    snapshotId: () => reader.snapshotId(),
    newSnapshotId: () => reader.snapshotId(),
    needsScan: (statement, table) => reader.needsScan(statement, table),
    signingKey: () => readSigningKey(dirname(file)),
    createKyselyDatabase: (write) => createKyselyDatabase(readOrWrite((query) => reader.all(query), write)),
    keepSnapshot: () => reader.keepSnapshot(),
    releaseSnapshot: () => reader.releaseSnapshot(),
    close: () => reader.close(),
  }
}
