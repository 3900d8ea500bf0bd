import { readOrWrite } from '../kysely.ts'
import type { ThreadReads } from '../thread-reads.ts'
import { Connection } from './connection.ts'
import { DIALECT } from './dialect.ts'
import { createKyselyDatabase } from './kysely.ts'
import { needsScan } from './needs-scan.ts'
import { Reader } from './reader.ts'
import { Shapes } from './shapes.ts'
import { readSigningKey } from './signing-key.ts'

const doNothing = () => {}

/** The data from which a serving thread opens its reads. */
export interface ThreadReadsStart {
  url: string
  /** number of commits of this process, in shared memory */
  commits: Int32Array
  /** number of open connections of this process, in shared memory */
  connections: Int32Array<SharedArrayBuffer>
}

/** Opens the reads of a serving thread: all of them share one connection. */
export async function openThreadReads({ url, commits, connections }: ThreadReadsStart): Promise<ThreadReads> {
  Connection.counter = connections
  const reader = new Reader(url, commits, 0)
  const shapes = new Shapes(reader)
  // The main thread looks at the same database, and logs when it cannot.
  await shapes.start(doNothing)
  return {
    dialect: DIALECT,
    read: (statement) => reader.all(statement),
    readOne: (statement) => reader.first(statement),
    readUpTo: (statement, bytes) => reader.upTo(statement, bytes),
    shape: (table) => shapes.get(table),
    refreshShapes: () => shapes.refresh(),
    assumeShapes: (assumed) => shapes.assume(assumed),
    snapshotId: () => reader.snapshotId(),
    newSnapshotId: () => reader.newSnapshotId(),
    needsScan: (statement, table) => needsScan(url, statement, table),
    signingKey: () => readSigningKey(reader),
    createKyselyDatabase: (write) => createKyselyDatabase(readOrWrite((query) => reader.all(query), write)),
    // Tables change under a lock, and requests wait for the app that fits them.
    keepSnapshot: doNothing,
    releaseSnapshot: doNothing,
    close: async () => {
      shapes.close()
      await reader.close()
    },
  }
}
