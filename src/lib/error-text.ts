import { inspect } from 'node:util'

/** Text of a value that foreign code has thrown: the message of an `Error`, else `inspect` of the value. */
export const errorText = (thrown: unknown): string => (thrown instanceof Error ? thrown.message : inspect(thrown))
