import { randomUUID } from 'node:crypto'
import { rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { parseArgs } from 'node:util'
import { Failure } from '../errors.ts'
import { makeFolder } from '../lib/file-owner.ts'
import { spool, spoolFolder } from '../records/import/spool.ts'
import { formatOfFile, parseImport } from '../requests/bulk.ts'
import { DatabaseError, type Progress } from '../storage/storage.ts'
import { type Command, type CommandContext, resolveFile, runCommand, UsageError } from './command.ts'
import { createProgress } from './progress.ts'
import { withRecords } from './with-records.ts'

export const HELP = `Usage: npm run import -- MODEL FILE [OPTIONS]

Takes in the rows of FILE ("-": standard input) as records of a model. First all are checked; if any is wrong nothing is
written, and the faults are listed by line and field. Works beside a running service, and without one.

  --key FIELD              a unique field, or id: rows that have that of a record change it
  --dry-run                only checks, and tells what would be done
  --format csv|ndjson|xlsx by the name of the file, or csv
  --delimiter comma|semicolon|tab
  --columns a,,b           what the columns are, whatever the first line says; nothing leaves one out
  --zone Europe/Oslo       of times that name no zone
  --decimal comma|point    what stands before the fraction of numbers in a CSV file
  --as NAME                in the name of this user, with their rights; else of the admin

Exit codes: 0 done, 1 refused (the message says why), 2 wrong usage.
`

export const importCommand: Command = async (context) => {
  const { values, positionals } = parseArgs({
    args: context.args,
    allowPositionals: true,
    options: {
      key: { type: 'string' },
      'dry-run': { type: 'boolean', default: false },
      format: { type: 'string' },
      delimiter: { type: 'string', default: 'comma' },
      columns: { type: 'string' },
      zone: { type: 'string' },
      decimal: { type: 'string' },
      as: { type: 'string' },
    },
  })
  const [name, file, ...more] = positionals
  if (name === undefined || file === undefined || more.length > 0) throw new UsageError('Name a model and a file.')
  const { 'dry-run': dryRun, as, zone, format = formatOfFile(file), ...others } = values
  const options = parseImport({ ...others, ...(zone && { zone }), format, dryRun: String(dryRun) })
  return withRecords(context, name, as, async ({ config, records, user }) => {
    const source = await openSource(file, context, config.DATA_DIR)
    const phases = {
      checked: createProgress(context.stderr, 'checked', 'KB'),
      written: createProgress(context.stderr, 'written', 'rows'),
    }
    const onProgress = (phase: keyof typeof phases, progress: Progress) => phases[phase].tell(progress)
    const { created, updated, unchanged } = await records
      .importAll({ ...source, ...options, isOtherProcess: true, onProgress }, user)
      .catch((error) => {
        throw withFaultList(error)
      })
      .finally(() => {
        phases.written.end()
        source.clear()
      })
    const done = dryRun ? 'Would be done' : 'Done'
    return `${done}: ${created} created, ${updated} updated, ${unchanged} unchanged.\n`
  })
}

/** Returns the file, or standard input copied to a file, with a path for the checked rows. */
async function openSource(name: string, context: CommandContext, dataDir: string) {
  if (name === '-') return spool(context.stdin as Readable, dataDir, Number.POSITIVE_INFINITY)
  const file = resolveFile(name, context)
  if (!statSync(file, { throwIfNoEntry: false })?.isFile()) throw new DatabaseError(`There is no file ${file}.`)
  makeFolder(spoolFolder(dataDir))
  const checked = join(spoolFolder(dataDir), `${process.pid}-${randomUUID()}`)
  return { file, checked, clear: () => rmSync(checked, { force: true }) }
}

/** Adds the faults to the message. Its length stays below the limit of a `Failure`, so the end may be cut off. */
function withFaultList(error: unknown): unknown {
  const { code, message, details } = error as Failure
  const errors = details?.errors
  if (!errors) return error
  const lines = Object.entries(errors).map(([place, why]) => `  ${place.replace('.', ', ')}: ${why}`)
  return new Failure(code, [message, ...lines].join('\n').slice(0, 1900))
}

if (import.meta.main) await runCommand(HELP, importCommand)
