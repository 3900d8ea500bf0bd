import { SettingsError } from './config.ts'
import { Failure } from './errors.ts'
import { AddressError } from './http/address.ts'
import { ModelFilesError } from './model/load.ts'
import { DatabaseError, Refused, StorageFault } from './storage/storage.ts'

const EXPECTED = [AddressError, DatabaseError, Failure, ModelFilesError, Refused, SettingsError, StorageFault]

/**
 * Whether an operator can fix the cause of an error. Its message says how, so no stack is shown. System errors (those
 * with `syscall`) count as well: they name the file, folder or address at fault.
 */
export const isExpected = (error: unknown): boolean =>
  EXPECTED.some((kind) => error instanceof kind) || (error instanceof Error && 'syscall' in error)
