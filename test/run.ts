import { spawn } from 'node:child_process'
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

const server = isQuick ? undefined : await startPostgres()
const env = { ...process.env, ...(server && { TEST_POSTGRES: server.url }) }
const tap = spawn('tap', ['run', ...words], { env, stdio: ['inherit', 'pipe', 'inherit'] })
let last = ''
const failed: string[] = []
tap.stdout.on('data', (chunk: Buffer) => {
  process.stdout.write(chunk)
  const lines = (last + chunk).split('\n')
  last = lines.pop() as string
  failed.push(...lines.filter((line) => /^\s*not ok /.test(line)))
})
const code = await new Promise<number | null>((resolve) => tap.once('close', resolve))
await server?.stop()
if (failed.length > 0) process.stdout.write(`\nNot ok:\n${failed.join('\n')}\n`)
process.exitCode = code ?? 1
