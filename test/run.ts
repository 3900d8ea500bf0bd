import { spawn } from 'node:child_process'
import { existsSync, globSync, mkdtempSync, readFileSync, rmSync, statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { bundlePackages } from '../src/package-bundles.js'
import { openStorage } from '../src/storage/open.ts'
import { check } from './checks.ts'
import { GROUPED, LONG } from './groups.ts'
import { startPostgres } from './postgres-server.ts'
import { stripTo } from './strip.ts'

/**
 * Checks the types, lints, and runs the tests, on both engines: `npm test`. `npm test -- --engine=sqlite` leaves
 * PostgreSQL out, `npm test -- --quick` also the browser, the coverage and what takes long. If test files are named,
 * only these are run. What failed is said once more at the end.
 */
const given = process.argv.slice(2)
const isQuick = given.includes('--quick')
const isOnBoth = !isQuick && !given.includes('--engine=sqlite')
const rest = given.filter((word) => word !== '--quick' && !word.startsWith('--engine='))
const areNamed = rest.some((word) => !word.startsWith('-'))

/** What needs a browser. */
const BROWSER = 'test/page/{rare-states,editing,places,sheet,together}.test.ts'
const QUICK = ['--disable-coverage', '--allow-empty-coverage']

/**
 * All test files; those that share a process by the file that brings them together. tap runs them in the order of their
 * paths: `test/by-group` comes first, because it takes longest.
 */
function files(): string[] {
  const long = LONG.map((name) => `test/${name}.test.ts`)
  const left = [...(isOnBoth ? [] : ['test/postgres/**']), ...(isQuick ? [BROWSER, ...long] : [])]
  const grouped = GROUPED.map((name) => `test/${name}.test.ts`)
  const alone = globSync('test/**/*.test.ts', { exclude: [...left, ...grouped] })
  return [...globSync('test/by-group/*.ts'), ...alone.sort()]
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

const MEMORY_DISK = '/dev/shm'
const MIN_MEMORY = 4 * 1024 ** 3

/**
 * Whether temporary files can be in memory. Many tests wait for a disk, some hundred databases are created, and no test
 * is about a power failure. The PostgreSQL server is started from there, which some systems do not allow.
 */
function hasMemoryDisk(): boolean {
  if (process.env.TMPDIR !== undefined || !existsSync('/proc/mounts')) return false
  const mount = readFileSync('/proc/mounts', 'utf8')
    .split('\n')
    .find((line) => line.split(' ')[1] === MEMORY_DISK)
  if (!mount || /\b(noexec|ro)\b/.test(mount.split(' ')[3] as string)) return false
  const { bavail, bsize } = statfsSync(MEMORY_DISK)
  return bavail * bsize > MIN_MEMORY
}

async function runTap(): Promise<number> {
  if (hasMemoryDisk()) process.env.TMPDIR = MEMORY_DISK
  const folder = mkdtempSync(join(tmpdir(), 'dossier-run-'))
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
  stripTo(folder)
  await bundlePackages()
  const server = isOnBoth ? await startPostgres() : undefined
  const env = {
    ...process.env,
    NODE_OPTIONS: `${process.env.NODE_OPTIONS ?? ''} --import=${join(import.meta.dirname, 'preload.js')}`,
    TEST_STRIPPED: folder,
    PGCONNECT_TIMEOUT: '60',
    ...(isQuick && { TEST_QUICK: '1' }),
    ...(server && { TEST_POSTGRES: server.url, TEST_TEMPLATE: await makeTemplate(server.url) }),
  }
  const words = [...(isOnBoth ? [] : ['--allow-incomplete-coverage']), ...(isQuick ? QUICK : [])]
  if (!areNamed) words.push(...files())
  // On a terminal tap draws by itself, and shows what failed.
  const tap = spawn('tap', ['run', ...words, ...rest], {
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
  return code ?? 1
}

const faults = await check(areNamed ? [] : ['npm run types', 'npm run lint'])
process.stdout.write(faults.join('\n'))
process.exitCode = faults.length > 0 ? 1 : await runTap()
