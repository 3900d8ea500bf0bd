import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { compareBatches } from './batches.ts'
import { bulk } from './bulk.ts'
import { chart } from './chart.ts'
import { compareGroups } from './groups.ts'
import { compareHistories } from './history.ts'
import { overload } from './overload.ts'
import { visitPage } from './page.ts'
import { comparePostgres } from './postgres.ts'
import { changeOnPostgres } from './postgres-change.ts'
import { stayQuiet } from './quiet.ts'
import { compareRelated } from './related.ts'
import { pinLoad } from './servers.ts'
import { compareSizes } from './sizes.ts'
import { measureSizing } from './sizing.ts'
import { compareStarts } from './starts.ts'
import { manyStreams } from './streams.ts'
import { compareTexts } from './texts.ts'
import { compareThreads } from './threads.ts'
import { compareWork } from './work.ts'

/**
 * `npm run bench [-- ROUNDS SECONDS] [--engine=postgres | --threads | --sizing | --texts | --related]`: the service
 * beside a hand-written server, turn by turn in one run, each on one core with the load on another. What counts is the
 * ratio: it holds on another machine, the numbers do not. Neither logs its requests.
 */
const isPostgres = process.argv.includes('--engine=postgres')
const given = process.argv
  .slice(2)
  .filter((word) => !word.startsWith('--'))
  .map(Number)
const [rounds = 5, seconds = 3] = given
const folder = mkdtempSync(join(tmpdir(), 'dossier-bench-'))

if (!isPostgres) pinLoad()
try {
  if (isPostgres) {
    await comparePostgres(folder, rounds, seconds)
    await changeOnPostgres(folder)
  } else if (process.argv.includes('--threads')) await compareThreads(folder, rounds, seconds)
  else if (process.argv.includes('--sizing')) await measureSizing(folder, seconds)
  else if (process.argv.includes('--texts')) await compareTexts(folder, 1_000_000)
  else if (process.argv.includes('--related')) await compareRelated(folder)
  else await compareAll()
} finally {
  rmSync(folder, { recursive: true, force: true })
}

async function compareAll(): Promise<void> {
  const results = await compareWork(folder, rounds, seconds)
  // A short trial is no result.
  if (given.length === 0) writeFileSync(join(import.meta.dirname, 'bench.svg'), chart(results))
  await compareGroups(folder)
  await compareBatches(folder, rounds)
  await bulk(folder)
  await visitPage(folder)
  await compareSizes(folder)
  await compareTexts(folder)
  await compareRelated(folder)
  await compareHistories(folder)
  await manyStreams(folder, seconds)
  await compareStarts(folder)
  await stayQuiet(folder, seconds)
  await overload(folder, seconds)
}
