import { createWriteStream, renameSync, rmSync } from 'node:fs'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { parseArgs } from 'node:util'
import { formatOfFile, parseExport } from '../requests/bulk.ts'
import type { Chunk } from '../storage/storage.ts'
import { createCounter } from '../tables/counts.ts'
import { type Command, resolveFile, runCommand, UsageError } from './command.ts'
import { createProgress } from './progress.ts'
import { withRecords } from './with-records.ts'

export const HELP = `Usage: npm run -s export -- MODEL [FILE] [OPTIONS]

Writes all records of a model to FILE, or without one (or with "-") to standard output. Works beside a running service,
and without one. What FILE names is there when it is whole.

  --format csv|ndjson|xlsx by the name of the file, or csv
  --delimiter comma|semicolon|tab
  --decimal comma          writes numbers with a comma: 12,50
  --safe                   makes texts harmless that a spreadsheet would take for a formula
  --query 'lastName=King&sort=-id&fields=email'
                           filters, sort and fields as in the address of a find
  --zone Europe/Oslo       of times in a spreadsheet, UTC if not given
  --as NAME                only what this user may read

Exit codes: 0 done, 1 refused (the message says why), 2 wrong usage.
`

export const exportCommand: Command = async (context) => {
  const { values, positionals } = parseArgs({
    args: context.args,
    allowPositionals: true,
    options: {
      format: { type: 'string' },
      delimiter: { type: 'string', default: 'comma' },
      decimal: { type: 'string', default: 'point' },
      safe: { type: 'boolean', default: false },
      query: { type: 'string', default: '' },
      zone: { type: 'string', default: 'UTC' },
      as: { type: 'string' },
    },
  })
  const [name, file = '-', ...more] = positionals
  if (name === undefined || more.length > 0) throw new UsageError('Name a model, and a file or none.')
  const { format = formatOfFile(file), delimiter, decimal, safe, zone } = values
  return withRecords(context, name, values.as, async ({ storage, models, model, records, user }) => {
    const query = Object.fromEntries(new URLSearchParams(values.query))
    const options = parseExport({ ...query, format, delimiter, decimal, zone, safe: String(safe) }, { model, models })
    const total = await createCounter(storage, model).total()
    const progress = createProgress(context.stderr, 'written', 'rows')
    let rows = 0
    const pieces = counted(records.exportAll(options, user), (some) => {
      rows += some
      progress.tell({ done: rows, of: Math.max(rows, total) })
    })
    if (file === '-') {
      await pipeline(Readable.from(pieces), context.stdout, { end: false }).catch(ignoreBrokenPipe)
      return ''
    }
    const target = resolveFile(file, context)
    await writeWhole(target, pieces)
    progress.end()
    return `${rows} records: ${target}\n`
  })
}

async function* counted(pieces: AsyncIterable<Chunk>, onRows: (rows: number) => void): AsyncGenerator<Uint8Array> {
  for await (const { bytes, rows } of pieces) {
    onRows(rows)
    yield bytes
  }
}

/** Writes to a temporary name and renames the file when it is complete. */
async function writeWhole(target: string, pieces: AsyncIterable<Uint8Array>): Promise<void> {
  const temporary = `${target}.${process.pid}.part`
  try {
    await pipeline(Readable.from(pieces), createWriteStream(temporary, { mode: 0o600 }))
    renameSync(temporary, target)
  } finally {
    rmSync(temporary, { force: true })
  }
}

/** Ignores `EPIPE`: the reader may close the pipe early, as `head` does. */
function ignoreBrokenPipe(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EPIPE') throw error
}

if (import.meta.main) await runCommand(HELP, exportCommand)
