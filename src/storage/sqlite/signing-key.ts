import { randomBytes, randomUUID } from 'node:crypto'
import { existsSync, linkSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dataFolder } from '../../data-folder.ts'
import { giveToOwner } from '../../lib/file-owner.ts'
import { DatabaseError } from '../storage.ts'

/** Reads the signing key. It is created on first use and stored, so that sessions survive a restart. */
export function readSigningKey(dataDir: string): string {
  const file = dataFolder(dataDir).signingKey
  if (!existsSync(file)) makeSigningKey(file)
  const key = readFileSync(file, 'utf8').trim()
  if (key.length < 32)
    throw new DatabaseError(`${file} is damaged. Remove it to have a new one made; everybody has to log in again.`)
  return key
}

export const storeSigningKey = (dataDir: string, key: string) => makeSigningKey(dataFolder(dataDir).signingKey, key)

/** Writes another file and links it: if two processes start at once, one wins, and neither reads half a key. */
function makeSigningKey(file: string, key = randomBytes(32).toString('base64url')): void {
  const temporary = `${file}.${randomUUID()}`
  try {
    writeFileSync(temporary, key, { mode: 0o600, flag: 'wx' })
    giveToOwner(temporary)
    linkSync(temporary, file)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  } finally {
    rmSync(temporary, { force: true })
  }
}
