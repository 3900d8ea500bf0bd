import type { Database } from './dialect.ts'
import type { MaybePromise, Storage } from './storage.ts'

/** Bounded reads of a serving thread beside the main one, on a connection of its own. */
export interface ThreadReads
  extends Pick<
    Storage,
    | 'dialect'
    | 'read'
    | 'readOne'
    | 'readUpTo'
    | 'shape'
    | 'refreshShapes'
    | 'snapshotId'
    | 'newSnapshotId'
    | 'needsScan'
    | 'signingKey'
  > {
  createKyselyDatabase(write: Storage['write']): Database
  /** Takes over shapes that the main thread has read: the next app is made for them. */
  assumeShapes(shapes: Record<string, string>): void
  /** Keeps the current snapshot, whatever is committed, until `releaseSnapshot` is called. */
  keepSnapshot(): void
  releaseSnapshot(): void
  close(): MaybePromise<void>
}
