import { randomBytes } from 'node:crypto'
import { type Algorithm, hash, verify } from '@node-rs/argon2'
import { type LoginSource, PasswordQueue, TRUSTED_SOURCE } from './password-queue.ts'

/** OWASP's recommendation for argon2id. */
const OPTIONS = { algorithm: 2 as Algorithm.Argon2id, memoryCost: 19_456, timeCost: 2, parallelism: 1 }

const queue = new PasswordQueue()

/** For users who are logged in, and for the command line. */
export const hashPassword = (password: string) => queue.run(TRUSTED_SOURCE, () => hash(password, OPTIONS))

/** For an unknown user (no `stored` hash) it verifies against a dummy hash, so the response time reveals nothing. */
export async function checkPassword(password: string, stored: string | undefined, from: LoginSource): Promise<boolean> {
  const against = stored ?? (await dummyHash())
  const matches = await queue.run(from, () => verify(against, password))
  return matches && stored !== undefined
}

let dummy: Promise<string> | undefined

function dummyHash(): Promise<string> {
  dummy ??= hash(randomBytes(32), OPTIONS)
  return dummy
}

/** Generates a password that is easy to read and type: 20 out of 32 letters and digits, 100 bits. */
export function generatePassword(): string {
  const letters = 'abcdefghijkmnpqrstuvwxyz23456789'
  return Array.from(randomBytes(20), (byte) => letters[byte % letters.length]).join('')
}
