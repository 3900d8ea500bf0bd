import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Browser, chromium } from 'playwright-core'
import type { Test } from 'tap'

/** A real browser for tests: an installed one, or on Debian one that is downloaded once, without root. */

const CACHE = join(import.meta.dirname, '..', 'node_modules', '.cache', 'chromium')
const NAMES = ['chromium-headless-shell', 'chromium', 'google-chrome']
/** The browser must not contact other servers. */
const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]

interface Found {
  executable: string
  /** folders of its libraries, if they are not installed */
  libraries?: string[]
}

/** Starts a browser for a test file. If there is none, the test is skipped with a message, or fails if `CI` is set. */
export async function startBrowser(t: Test): Promise<Browser | undefined> {
  const browser = await launchBrowser().catch((error: Error) => error)
  if (browser instanceof Error || !browser) {
    const why = `there is no Chromium to test with: set CHROMIUM to one${browser ? ` (${browser.message})` : ''}`
    if (process.env.CI) throw new Error(why)
    t.skip(why, () => {})
    console.error(`\n  SKIPPED: ${why}\n`)
    return undefined
  }
  t.teardown(() => browser.close())
  return browser
}

export async function launchBrowser(): Promise<Browser | undefined> {
  const found = await findBrowser()
  if (!found) return undefined
  const { executable, libraries = [] } = found
  const env = { ...process.env, LD_LIBRARY_PATH: [...libraries, process.env.LD_LIBRARY_PATH ?? ''].join(':') }
  return chromium.launch({ executablePath: executable, args: FLAGS, env: env as Record<string, string> })
}

async function findBrowser(): Promise<Found | undefined> {
  const { CHROMIUM, PATH = '' } = process.env
  if (CHROMIUM) return { executable: CHROMIUM }
  const inPath = NAMES.flatMap((name) => PATH.split(delimiter).map((folder) => join(folder, name))).find(existsSync)
  return inPath ? { executable: inPath } : ((await inCache()) ?? undefined)
}

/** The first process downloads the browser; the others wait for it. */
async function inCache(): Promise<Found | undefined> {
  if (!existsSync(CACHE)) {
    if (!existsSync('/usr/bin/apt-get')) return undefined
    const lock = `${CACHE}.lock`
    mkdirSync(join(CACHE, '..'), { recursive: true })
    try {
      mkdirSync(lock)
    } catch {
      for (let tries = 0; existsSync(lock) && tries < 600; tries++) await sleep(200)
      return inCache()
    }
    try {
      if (!existsSync(CACHE)) fetchFromDebian()
    } finally {
      rmSync(lock, { recursive: true })
    }
  }
  const folder = join(CACHE, 'usr', 'lib', 'chromium')
  const system = readdirSync(join(CACHE, 'usr', 'lib')).filter((name) => name.includes('-linux-'))
  const libraries = system.map((name) => join(CACHE, 'usr', 'lib', name))
  return {
    executable: join(folder, 'chromium-headless-shell'),
    libraries: [folder, ...libraries, ...libraries.map((one) => join(one, 'pulseaudio'))],
  }
}

/** With its own folders, apt-get needs no root and changes nothing on the machine. */
function fetchFromDebian(): void {
  const work = `${CACHE}.work`
  rmSync(work, { recursive: true, force: true })
  for (const folder of ['state/lists/partial', 'cache/archives/partial', 'root'])
    mkdirSync(join(work, folder), { recursive: true })
  const options = [
    `Dir::State=${work}/state`,
    `Dir::Cache=${work}/cache`,
    'Dir::State::status=/var/lib/dpkg/status',
    'Debug::NoLocking=1',
    'APT::Sandbox::User=',
  ].flatMap((option) => ['-o', option])
  const run = (command: string, ...words: string[]) =>
    execFileSync(command, words, { stdio: ['ignore', 'ignore', 'pipe'] })
  run('apt-get', ...options, 'update')
  run('apt-get', ...options, 'install', '-y', '--download-only', '--no-install-recommends', 'chromium-headless-shell')
  const archives = join(work, 'cache', 'archives')
  for (const name of readdirSync(archives).filter((one) => one.endsWith('.deb')))
    run('dpkg-deb', '-x', join(archives, name), join(work, 'root'))
  renameSync(join(work, 'root'), CACHE)
  rmSync(work, { recursive: true })
}
