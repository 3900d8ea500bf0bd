import { createHash, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createWriteStream, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { dataFolder } from '../../data-folder.ts'
import { Failure } from '../../errors.ts'
import { makeFolder } from '../../lib/file-owner.ts'
import { asDiskFull } from '../../storage/storage.ts'

/** An uploaded file on disk: an import reads it more than once, and it may be larger than the memory. */
export interface Spooled {
  file: string
  /** path for the checked rows */
  checked: string
  hash: string
  /** Removes the upload and the checked rows. */
  clear(): void
}

export const spoolFolder = (dataDir: string) => dataFolder(dataDir).imports

/** Writes a stream to a new file; throws if it has more than `maxBytes` bytes. */
export async function spool(
  source: Readable,
  dataDir: string,
  maxBytes: number,
  onBytes: (bytes: number) => void = () => {},
): Promise<Spooled> {
  const folder = spoolFolder(dataDir)
  makeFolder(folder)
  // `removeAbandonedImports` reads the process id from the name to find out whether the process is still running.
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
  // The races below await this promise; this handler only prevents an unhandled rejection before that.
  failed.catch(() => {})
  let size = 0
  try {
    for await (const chunk of source.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      size += chunk.length
      if (size > maxBytes) throw uploadTooLargeFailure(maxBytes)
      onBytes(chunk.length)
      hash.update(chunk)
      if (!target.write(chunk)) await Promise.race([once(target, 'drain'), failed])
    }
    target.end()
    await Promise.race([once(target, 'close'), failed])
  } catch (error) {
    // Discards the rest of the body, so that the client can read the answer and reuse the connection.
    source.resume()
    target.destroy()
    if (!target.closed) await once(target, 'close').catch(() => {})
    clear()
    throw asDiskFull(error)
  }
  return { file, checked, hash: hash.digest('hex'), clear }
}

export const uploadTooLargeFailure = (maxBytes: number) =>
  new Failure('BODY_TOO_LARGE', `The body of an import may have ${maxBytes} bytes (IMPORT_LIMIT_BYTES).`)
