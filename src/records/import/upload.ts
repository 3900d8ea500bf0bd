import type { IncomingHttpHeaders } from 'node:http'
import { finished, PassThrough, type Readable, Transform } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { Busboy, type BusboyHeaders, type BusboyInstance } from '@fastify/busboy'
import { Failure } from '../../errors.ts'
import { isGzipped, NOT_GZIPPED } from '../../requests/gzip.ts'
import { badRequest } from '../../requests/query.ts'
import { uploadTooLargeFailure } from './spool.ts'

/** The file that a request uploads: its body, or the only file of a form; unpacked, if it is packed by gzip. */
export interface Upload {
  source: Readable
  /** name and media type of the file in a form */
  name?: string | undefined
  type?: string | undefined
  /** Throws if more than the file was sent. To be called when the source has been read. */
  finish(): Promise<void>
  /** Stops reading. What is still to come is discarded, so that the client can read the answer. */
  cancel(): void
}

/** Bytes that a form may have beside its file: boundaries, and headers of its parts. */
const FORM_BYTES = 65_536

const ONE_FILE = 'Send one file in the form, and everything else in the address.'
const BROKEN = 'The form did not arrive whole.'

/** Opens the upload of a request, which may have `maxBytes`. */
export async function openUpload(body: Readable, headers: IncomingHttpHeaders, maxBytes: number): Promise<Upload> {
  const unpacked = isGzipped(headers) ? pipeThrough(body, createGunzip(), NOT_GZIPPED) : body
  const cancel = () => {
    if (unpacked !== body) unpacked.destroy()
    body.unpipe()
    body.resume()
  }
  if (!/^multipart\/form-data\b/i.test(String(headers['content-type'])))
    return { source: unpacked, finish: async () => {}, cancel }
  try {
    return await openForm(pipeThrough(unpacked, counter(maxBytes)), headers, cancel)
  } catch (error) {
    cancel()
    throw error
  }
}

/**
 * Pipes `source` through `next`. If either fails, so does the result: with `fault`, if given, unless it was a Failure.
 */
function pipeThrough(source: Readable, next: Transform, fault?: Failure): Readable {
  const end = new PassThrough()
  const fail = (error: Error) => end.destroy(error instanceof Failure ? error : (fault ?? error))
  next.on('error', fail)
  finished(source, (error) => error && fail(error))
  // The reader of `end` handles the error. Without this listener, an error after the reader has left would be uncaught.
  end.on('error', () => {})
  end.on('close', () => next.destroy())
  source.pipe(next).pipe(end)
  return end
}

/** Counts all that comes, also what is not in the file. */
function counter(maxBytes: number): Transform {
  let left = maxBytes + FORM_BYTES
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      left -= chunk.length
      done(left < 0 ? uploadTooLargeFailure(maxBytes) : null, chunk)
    },
  })
}

/** Waits for the first file of a form. */
function openForm(body: Readable, headers: IncomingHttpHeaders, cancel: () => void): Promise<Upload> {
  return new Promise((resolve, reject) => {
    const form = createForm(headers)
    let file: Readable | undefined
    let isFaulty = false
    const { promise: done, resolve: settle, reject: fail } = Promise.withResolvers<void>()
    const stop = (error: unknown) => {
      fail(error)
      file?.destroy(error as Error)
    }
    // Without effect if there was a file: whoever reads it awaits the end.
    done.then(() => reject(badRequest(ONE_FILE)), reject)
    form.on('filesLimit', () => {
      isFaulty = true
    })
    form.on('field', () => {
      isFaulty = true
    })
    form.on('file', (_field, source, name, _encoding, type) => {
      file = source
      // Replaces Busboy's own error for a form that ends early.
      const checked = pipeThrough(source, new PassThrough(), badRequest(BROKEN))
      resolve({ source: checked, name, type, finish: () => done, cancel })
    })
    form.on('finish', () => (isFaulty ? fail(badRequest(ONE_FILE)) : settle()))
    form.on('error', () => stop(badRequest(BROKEN)))
    finished(body, (error) => error && stop(error instanceof Failure ? error : badRequest(BROKEN)))
    body.pipe(form)
  })
}

function createForm(headers: IncomingHttpHeaders): BusboyInstance {
  try {
    return new Busboy({ headers: headers as BusboyHeaders, limits: { files: 1, fields: 1, parts: 3 } })
  } catch {
    throw badRequest('The form has no boundary in its Content-Type.')
  }
}
