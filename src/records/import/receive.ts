import type { IncomingHttpHeaders } from 'node:http'
import type { Readable } from 'node:stream'
import type { ImportLimits } from './limits.ts'
import { type Spooled, spool } from './spool.ts'
import { openUpload, type Upload } from './upload.ts'

/** A file that a request has uploaded, on disk. */
export interface ReceivedFile extends Spooled, Pick<Upload, 'name' | 'type'> {}

interface Receiving {
  username: string
  dataDir: string
  /** bytes that a file may have */
  maxBytes: number
  limits: ImportLimits
}

/** Writes an uploaded file to the disk. Each user may have one there, until it is cleared. */
export async function receiveFile(
  body: Readable,
  headers: IncomingHttpHeaders,
  { username, dataDir, maxBytes, limits }: Receiving,
): Promise<ReceivedFile> {
  const release = limits.claim(username)
  const counted = limits.countUpload(maxBytes)
  const clear = () => {
    counted.clear()
    release()
  }
  try {
    const upload = await openUpload(body, headers, maxBytes)
    const spooled = await spoolUpload(upload, dataDir, maxBytes, counted.add)
    const clearAll = () => {
      spooled.clear()
      clear()
    }
    return { ...spooled, name: upload.name, type: upload.type, clear: clearAll }
  } catch (error) {
    clear()
    throw error
  }
}

async function spoolUpload(upload: Upload, dataDir: string, maxBytes: number, onBytes: (bytes: number) => void) {
  try {
    const spooled = await spool(upload.source, dataDir, maxBytes, onBytes)
    await upload.finish().catch((error) => {
      spooled.clear()
      throw error
    })
    return spooled
  } catch (error) {
    upload.cancel()
    throw error
  }
}
