import { spawn } from 'node:child_process'
import pg from 'pg'
import { openStorage } from '../src/storage/open.ts'
import { startPostgres } from './postgres-server.ts'

/**
 * Runs the tests, on both engines: `npm test`, or `npm test -- --engine=sqlite` for a quick run. What failed is said once
 * more at the end.
 */
const { isQuick, words } = wordsIn(process.argv.slice(2))

function wordsIn(given: string[]) {
  const engine = given.find((word) => word.startsWith('--engine='))?.slice('--engine='.length)
  const isQuick = engine === 'sqlite'
  const rest = given.filter((word) => !word.startsWith('--engine='))
  return { isQuick, words: isQuick ? ['--exclude=test/postgres/**', '--allow-incomplete-coverage', ...rest] : rest }
}

/** Databases are made from one that has the service's own tables: to make those takes longer than many a test. */
async function makeTemplate(url: string): Promise<string> {
  const name = 'dossier_template'
  const client = new pg.Client(url)
  await client.connect()
  await client.query(`CREATE DATABASE ${name}`)
  await client.end()
  const place = new URL(url)
  place.pathname = name
  await (await openStorage({ DATA_DIR: '', DATABASE_URL: String(place) })).close()
  return name
}

const server = isQuick ? undefined : await startPostgres()
const template = server && (await makeTemplate(server.url))
const env = { ...process.env, ...(server && { TEST_POSTGRES: server.url, TEST_TEMPLATE: template }) }
// On a terminal tap draws by itself, and shows what failed.
const tap = spawn('tap', ['run', ...words], {
  env,
  stdio: ['inherit', process.stdout.isTTY ? 'inherit' : 'pipe', 'inherit'],
})
let last = ''
const failed: string[] = []
tap.stdout?.on('data', (chunk: Buffer) => {
  process.stdout.write(chunk)
  const lines = (last + chunk).split('\n')
  last = lines.pop() as string
  failed.push(...lines.filter((line) => /^\s*not ok /.test(line)))
})
const code = await new Promise<number | null>((resolve) => tap.once('close', resolve))
await server?.stop()
if (failed.length > 0) process.stdout.write(`\nNot ok:\n${failed.join('\n')}\n`)
process.exitCode = code ?? 1
