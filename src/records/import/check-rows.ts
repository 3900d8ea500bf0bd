import { statSync } from 'node:fs'
import { MAX_FAULTS } from '../../errors.ts'
import type { User } from '../../model/access.ts'
import { byName, type Model, tableName } from '../../model/model.ts'
import { type Database, type Progress, staleFault } from '../../storage/storage.ts'
import { tableShape } from '../../tables/ddl.ts'
import { createBlockChecker } from './check-block.ts'
import { CheckedRowWriter } from './checked-rows.ts'
import { checkColumns } from './parse-row.ts'
import { type FileFormat, type FileRow, readRows, UnreadableRow } from './read-rows.ts'

export interface CheckInput extends FileFormat {
  file: string
  /** file that receives the valid rows */
  target: string
  model: Model
  models: Model[]
  user: User
  /** the field that identifies the record to update */
  key?: string | undefined
  /** number of rows that an interrupted import has already written */
  skip: number
  /** maximum length of a row, in characters */
  longest: number
}

/** The result of a check. */
export interface CheckResult {
  rows: number
  created: number
  updated: number
  unchanged: number
  /** faults by `line.field`, or by line alone */
  errors: Record<string, string>
}

/** Rows that are checked together, so that a few statements read all records they are compared with. */
const BLOCK = 250
/** Approximate size at which a block ends early. */
const BLOCK_CHARACTERS = 2_000_000

/** Checks every row of a file. Runs as a read job on its own thread; writes only to the target file. */
export async function checkRows(
  db: Database,
  input: CheckInput,
  onProgress: (progress: Progress) => void,
): Promise<CheckResult> {
  await requireShape(db, input.model)
  const { size } = statSync(input.file)
  const target = new CheckedRowWriter(input.target)
  const errors = new Map<string, string>()
  const reportFault = (line: number, field: string, why: string) => {
    if (errors.size < MAX_FAULTS) errors.set(field === '' ? `${line}` : `${line}.${field}`, why)
  }
  const models = byName(input.models)
  const checkBlock = createBlockChecker(db, { ...input, models }, reportFault)
  const checked = { rows: 0, created: 0, updated: 0, unchanged: 0 }
  let block: FileRow[] = []
  let bytes = 0
  let flushedBytes = 0
  const flushBlock = async () => {
    const valid = await checkBlock(block)
    block = []
    flushedBytes = bytes
    for (const { kind } of valid) checked[kind]++
    await target.write(valid)
    onProgress({ done: Math.min(bytes, size), of: size })
  }
  try {
    const reading = {
      longest: input.longest,
      onBytes(count: number) {
        bytes += count
      },
      onColumns: (names: string[]) => checkColumns(names, input.model, models, reportFault),
    }
    for await (const row of readRows(input.file, input, reading)) {
      if (++checked.rows <= input.skip) continue
      block.push(row)
      if (block.length === BLOCK || bytes - flushedBytes > BLOCK_CHARACTERS) await flushBlock()
      if (errors.size >= MAX_FAULTS) break
    }
    await flushBlock()
  } catch (error) {
    if (!(error instanceof UnreadableRow)) throw error
    await flushBlock()
    reportFault(error.line, '', error.message)
  } finally {
    await target.close()
  }
  return { ...checked, errors: Object.fromEntries(errors) }
}

async function requireShape(db: Database, model: Model): Promise<void> {
  const known = await db
    .selectFrom('dossier_tables')
    .select('shape')
    .where('tbl', '=', tableName(model))
    .executeTakeFirst()
  if (known?.shape !== tableShape(model)) throw staleFault()
}
