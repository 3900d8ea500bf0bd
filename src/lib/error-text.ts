import { inspect } from 'node:util'

/** The message of what code that is not the service's own has thrown: that may be anything. */
export const errorText = (thrown: unknown): string => (thrown instanceof Error ? thrown.message : inspect(thrown))
