import { once } from 'node:events'
import { createReadStream, createWriteStream } from 'node:fs'
import { pipeline } from 'node:stream'
import { pipeline as pipelinePromise } from 'node:stream/promises'
import { createGunzip, createGzip, type Gzip } from 'node:zlib'
import { splitLines } from '../../lib/lines.ts'
import { asDiskFull } from '../../storage/storage.ts'
import type { ValidRow } from './check-block.ts'

/** A valid row with its number in the file. */
export type CheckedRow = ValidRow & { number: number }

/** A row as stored. Omitted values have defaults: the next line, `created`, and the names of the previous row. */
interface Written extends Partial<Pick<ValidRow, 'line' | 'kind' | 'id' | 'version' | 'isStrict'>> {
  /** field names, if they differ from those of the previous row */
  names?: string[]
  values: unknown[]
}

/**
 * The file between the two passes of an import: the valid rows, as compressed lines of JSON. Uncompressed, a row of two
 * bytes would take fifty, and one upload could fill the disk with many times its size.
 */
export class CheckedRowWriter {
  readonly #gzip: Gzip = createGzip({ level: 1 })
  readonly #written: Promise<void>
  #line = 0
  #names = ''

  constructor(file: string) {
    this.#written = pipelinePromise(this.#gzip, createWriteStream(file, { mode: 0o600 }))
    // `write` and `close` await the promise; this handler only prevents an unhandled rejection before that.
    this.#written.catch(() => {})
  }

  async write(rows: ValidRow[]): Promise<void> {
    const lines = rows.map((row) => `${JSON.stringify(this.#brief(row))}\n`)
    try {
      if (!this.#gzip.write(lines.join(''))) await Promise.race([once(this.#gzip, 'drain'), this.#written])
    } catch (error) {
      throw asDiskFull(error)
    }
  }

  async close(): Promise<void> {
    this.#gzip.end()
    await this.#written.catch((error) => {
      throw asDiskFull(error)
    })
  }

  #brief({ line, kind, data, ...row }: ValidRow): Written {
    const isNext = line === this.#line + 1
    this.#line = line
    const names = Object.keys(data)
    const isSame = this.#names === JSON.stringify(names)
    this.#names = JSON.stringify(names)
    const told = { ...(!isNext && { line }), ...(kind !== 'created' && { kind }), ...(!isSame && { names }) }
    return { ...told, ...row, values: Object.values(data) }
  }
}

/** Reads the rows back. Numbers continue after `before`, the rows that an interrupted import has already written. */
export async function* readCheckedRows(
  file: string,
  before: number,
): AsyncGenerator<{ row: CheckedRow; size: number }> {
  const text = pipeline(createReadStream(file), createGunzip(), () => {}).setEncoding('utf8') as AsyncIterable<string>
  let number = before
  let line = 0
  let names: string[] = []
  for await (const json of splitLines(text)) {
    if (json === '') continue
    const { names: others, values, ...written } = JSON.parse(json) as Written
    line = written.line ?? line + 1
    names = others ?? names
    const data = Object.fromEntries(names.map((name, index) => [name, values[index]]))
    yield { row: { kind: 'created', ...written, data, line, number: ++number }, size: json.length }
  }
}
