import { randomBytes } from 'node:crypto'
import { type Algorithm, hash, verify } from '@node-rs/argon2'
import { Turnstile } from '../lib/turnstile.ts'

/** OWASP's recommendation for argon2id. */
const OPTIONS = { algorithm: 2 as Algorithm.Argon2id, memoryCost: 19_456, timeCost: 2, parallelism: 1 }

/**
 * Hashing runs on other threads. More than one at once would take the processor from the requests that only read;
 * past two hundred in line a login would wait for seconds, and it is better to say so at once.
 */
const turnstile = new Turnstile(1, {
  most: 200,
  tooMany: 'Too many people are logging in right now. Try again in a few seconds.',
  seconds: 5,
})

export const hashPassword = (password: string) => turnstile.pass(() => hash(password, OPTIONS))

/** Against no hash (an unknown user) the same work is done, so that the time taken tells nothing. */
export async function checkPassword(password: string, stored: string | undefined): Promise<boolean> {
  const against = stored ?? (await dummyHash())
  const matches = await turnstile.pass(() => verify(against, password))
  return matches && stored !== undefined
}

let dummy: Promise<string> | undefined

function dummyHash(): Promise<string> {
  dummy ??= hash(randomBytes(32), OPTIONS)
  return dummy
}

/** Easy to read from a terminal and to type: 20 of 32 letters and digits, 100 bits. */
export function madeUpPassword(): string {
  const letters = 'abcdefghijkmnpqrstuvwxyz23456789'
  return Array.from(randomBytes(20), (byte) => letters[byte % letters.length]).join('')
}
