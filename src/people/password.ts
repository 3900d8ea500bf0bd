import { randomBytes } from 'node:crypto'
import { type Algorithm, hash, verify } from '@node-rs/argon2'
import { Failure } from '../errors.ts'

/** OWASP's recommendation for argon2id. */
const OPTIONS = { algorithm: 2 as Algorithm.Argon2id, memoryCost: 19_456, timeCost: 2, parallelism: 1 }

/** Hashing runs on other threads. More at once would take the processor from the requests that only read. */
const CONCURRENT = 1
/** Past this many in line a login would wait for seconds; better to say so at once. */
const MAX_WAITING = 200

let running = 0
const waiting: (() => void)[] = []

export const hashPassword = (password: string) => inTurn(() => hash(password, OPTIONS))

/** Against no hash (an unknown user) the same work is done, so that the time taken tells nothing. */
export async function checkPassword(password: string, stored: string | undefined): Promise<boolean> {
  const against = stored ?? (await dummyHash())
  const matches = await inTurn(() => verify(against, password))
  return matches && stored !== undefined
}

let dummy: Promise<string> | undefined

function dummyHash(): Promise<string> {
  dummy ??= hash(randomBytes(32), OPTIONS)
  return dummy
}

async function inTurn<Result>(work: () => Promise<Result>): Promise<Result> {
  if (running >= CONCURRENT) {
    if (waiting.length >= MAX_WAITING)
      throw new Failure('UNAVAILABLE', 'Too many people are logging in right now. Try again in a few seconds.', {
        headers: { 'retry-after': '5' },
      })
    await new Promise<void>((resolve) => waiting.push(resolve))
  } else {
    running++
  }
  try {
    return await work()
  } finally {
    const next = waiting.shift()
    if (next) next()
    else running--
  }
}

/** Easy to read from a terminal and to type: 20 of 32 letters and digits, 100 bits. */
export function madeUpPassword(): string {
  const letters = 'abcdefghijkmnpqrstuvwxyz23456789'
  return Array.from(randomBytes(20), (byte) => letters[byte % letters.length]).join('')
}
