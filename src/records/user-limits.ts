import { KeysInUse } from '../journal/idempotency.ts'
import { KeyedMutex } from '../lib/keyed-mutex.ts'
import { ImportLimits } from './import/limits.ts'

/**
 * The limits that all requests of one user in a process share. They outlive an app: requests of the old app go on while
 * a new one with other models serves already.
 */
export class UserLimits {
  readonly keys = new KeysInUse()
  readonly imports = new ImportLimits()
  /** Reads of old versions may go far back: those of one user run one after the other. */
  readonly history = new KeyedMutex()
}
