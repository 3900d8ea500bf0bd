import { SettingsError } from './config.ts'
import { Failure } from './errors.ts'
import { AddressError } from './http/address.ts'
import { ModelFaults } from './model/load.ts'
import { DatabaseError, Refused, StorageFault } from './storage/storage.ts'

const EXPECTED = [AddressError, DatabaseError, Failure, ModelFaults, Refused, SettingsError, StorageFault]

/**
 * What an operator can do something about: the message says what, and a stack would only hide it. What the system says of
 * files, folders and addresses names them.
 */
export const isExpected = (error: unknown): boolean =>
  EXPECTED.some((kind) => error instanceof kind) || (error instanceof Error && 'syscall' in error)
