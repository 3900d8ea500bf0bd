import { randomBytes, randomUUID } from 'node:crypto'
import { existsSync, linkSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dataFolder } from '../../data-folder.ts'
import { giveToOwner } from '../../lib/file-owner.ts'
import { DatabaseError } from '../storage.ts'

/** The secret that signs cookies: created on first use and stored, so that sessions survive a restart. */
export function cookieSecret(dataDir: string): string {
  const file = dataFolder(dataDir).secret
  if (!existsSync(file)) makeSecret(file)
  const secret = readFileSync(file, 'utf8').trim()
  if (secret.length < 32)
    throw new DatabaseError(`${file} is damaged. Remove it to have a new one made; everybody has to log in again.`)
  return secret
}

export const storeSecret = (dataDir: string, secret: string) => makeSecret(dataFolder(dataDir).secret, secret)

/** Writes another file and links it: if two processes start at once, one wins, and neither reads half a secret. */
function makeSecret(file: string, secret = randomBytes(32).toString('base64url')): void {
  const temporary = `${file}.${randomUUID()}`
  try {
    writeFileSync(temporary, secret, { mode: 0o600, flag: 'wx' })
    giveToOwner(temporary)
    linkSync(temporary, file)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  } finally {
    rmSync(temporary, { force: true })
  }
}
