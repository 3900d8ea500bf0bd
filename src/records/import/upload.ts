import type { IncomingHttpHeaders } from 'node:http'
import { type Readable, Transform } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { Busboy, type BusboyHeaders, type BusboyInstance } from '@fastify/busboy'
import { Failure } from '../../errors.ts'

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

const bad = (message: string) => new Failure('BAD_REQUEST', message)
const ONE_FILE = 'Send one file in the form, and everything else in the address.'

export async function openUpload(body: Readable, headers: IncomingHttpHeaders): Promise<Upload> {
  const unpacked = headers['content-encoding'] === 'gzip' ? gunzip(body) : body
  const cancel = () => {
    if (unpacked !== body) unpacked.destroy()
    body.resume()
  }
  if (!/^multipart\/form-data\b/i.test(headers['content-type'] ?? ''))
    return { source: unpacked, finish: async () => {}, cancel }
  return openForm(unpacked, headers, cancel)
}

function gunzip(body: Readable): Readable {
  const unpacking = createGunzip()
  // Passes on the error in words.
  const words = new Transform({ transform: (chunk, _encoding, done) => done(null, chunk) })
  unpacking.on('error', () => words.destroy(bad('The body is not packed by gzip, as its Content-Encoding says.')))
  body.on('error', (error) => words.destroy(error))
  words.on('close', () => unpacking.destroy())
  body.pipe(unpacking).pipe(words)
  return words
}

/** Waits for the first file of a form. */
function openForm(body: Readable, headers: IncomingHttpHeaders, cancel: () => void): Promise<Upload> {
  return new Promise((resolve, reject) => {
    let fault: Failure | undefined
    const complain = () => {
      fault = bad(ONE_FILE)
    }
    const form = createForm(headers)
    const finished = new Promise<void>((settle, fail) => {
      form.on('finish', () => (fault ? fail(fault) : settle()))
      form.on('error', () => fail(bad('The form did not arrive whole.')))
      body.on('error', fail)
    })
    // Without effect if there was a file: whoever reads it awaits the end.
    finished.then(() => reject(bad(ONE_FILE)), reject)
    form.on('filesLimit', complain)
    form.on('field', complain)
    form.on('file', (_field, source, name, _encoding, type) =>
      resolve({ source, name, type, finish: () => finished, cancel }),
    )
    body.pipe(form)
  })
}

function createForm(headers: IncomingHttpHeaders): BusboyInstance {
  try {
    return new Busboy({ headers: headers as BusboyHeaders, limits: { files: 1, fields: 1, parts: 3 } })
  } catch {
    throw bad('The form has no boundary in its Content-Type.')
  }
}
