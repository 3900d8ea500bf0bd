import { createHash, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createWriteStream, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { Failure } from '../../errors.ts'
import { makeFolder } from '../../lib/file-owner.ts'
import { asDiskFull } from '../../storage/storage.ts'

/** What has been sent, on disk: it is gone through more than once, and may be larger than the memory. */
export interface Spooled {
  file: string
  /** where to put what is made of it */
  checked: string
  hash: string
  /** removes it, and what was made of it */
  clear(): void
}

export const spoolFolder = (dataDir: string) => join(dataDir, 'imports')

/** Writes all that comes to a file of its own; too much of it is refused. */
export async function spool(
  source: Readable,
  dataDir: string,
  most: number,
  onBytes: (bytes: number) => void = () => {},
): Promise<Spooled> {
  const folder = spoolFolder(dataDir)
  makeFolder(folder)
  // The number of the process tells whether it is still there.
  const file = join(folder, `${process.pid}-${randomUUID()}`)
  const checked = `${file}.checked`
  const clear = () => {
    for (const one of [file, checked]) rmSync(one, { force: true })
  }
  const hash = createHash('sha256')
  const target = createWriteStream(file, { mode: 0o600 })
  const failed = once(target, 'error').then(([error]) => {
    throw error
  })
  // Whoever waits for it hears of it.
  failed.catch(() => {})
  let size = 0
  try {
    for await (const chunk of source.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      size += chunk.length
      if (size > most) throw tooLarge(most)
      onBytes(chunk.length)
      hash.update(chunk)
      if (!target.write(chunk)) await Promise.race([once(target, 'drain'), failed])
    }
    target.end()
    await Promise.race([once(target, 'close'), failed])
  } catch (error) {
    // What still comes is passed over: an answer finds its way back, and another request after it.
    source.resume()
    target.destroy()
    if (!target.closed) await once(target, 'close').catch(() => {})
    clear()
    throw asDiskFull(error)
  }
  return { file, checked, hash: hash.digest('hex'), clear }
}

const tooLarge = (most: number) =>
  new Failure('BODY_TOO_LARGE', `The body of an import may have ${most} bytes (IMPORT_LIMIT_BYTES).`)
