import { closeSync, openSync, rmSync, statfsSync, statSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import Sqlite from 'better-sqlite3'
import { type Answer, Client, login, PASSWORD } from '../client.ts'
import { auditFollowed, follow } from './followed-feed.ts'
import { audit, exitOf, kill, type Ledger, makeCrashFolder, newLedger, startService, until } from './harness.ts'
import { onSmallDisk } from './small-disk.ts'

/**
 * The disk fills up repeatedly while many clients write, and is freed again. In another test it is full while the
 * write-ahead log is so large that it has to be emptied, which also needs space. Both run in a child process on a small
 * file system.
 */

const ITEMS = '/ws/rest/crash.Item'
/** Above this size the service empties the write-ahead log (MAX_LOG_BYTES). */
const LARGE_LOG = 67_108_864
/** About the maximum size of a request body. */
const LONG = 1_000_000
const COULD_NOT_EMPTY = /^dossier_task_failures\{task="emptying the write-ahead log"\} [1-9]/m

const filler = (folder: string) => join(folder, 'filler')

/** Fills the file system, except for `but` bytes. */
function fill(folder: string, but = 0): void {
  const handle = openSync(filler(folder), 'a')
  const room = () => {
    const { bavail, bsize } = statfsSync(folder)
    return bavail * bsize - but
  }
  try {
    for (let left = room(); left > 0; left = room()) writeSync(handle, Buffer.alloc(Math.min(left, 1_048_576), 1))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error
  } finally {
    closeSync(handle)
  }
}

const makeRoom = (folder: string) => rmSync(filler(folder))

interface Work {
  url: string
  cookie: string
  ledger: Ledger
  faults: string[]
  isOver: boolean
  /** by writer: number of acknowledged writes, and of writes refused because the disk was full */
  taken: number[]
  refused: number[]
}

const clientOf = ({ url, cookie }: Pick<Work, 'url' | 'cookie'>) => Object.assign(new Client(url), { cookie })

/** Creates, updates and deletes. A refused write has changed nothing and is retried, with its key if it has one. */
async function write(work: Work, writer: number): Promise<void> {
  const { ledger } = work
  const client = clientOf(work)
  const mine: number[] = []
  const send = async (i: number, method: string, path: string, body?: unknown): Promise<Answer | undefined> => {
    const headers: Record<string, string> = i % 2 === 0 ? { 'idempotency-key': `${writer}.${i}` } : {}
    while (!work.isOver) {
      const answer = await client.send(method, path, body, headers)
      if (answer.status === 200) {
        work.taken[writer] = (work.taken[writer] ?? 0) + 1
        ledger.acknowledged++
        return answer
      }
      if (answer.status !== 507 || answer.body.code !== 'STORAGE_FULL') work.faults.push(`${method}: ${answer.text}`)
      work.refused[writer] = (work.refused[writer] ?? 0) + 1
      await sleep(2)
    }
    return undefined
  }
  const note = (operation: string, id: number, version: number) =>
    ledger.followed.acknowledged.push(`${operation} crash__Item ${id} ${version}`)
  for (let i = 0; !work.isOver; i++) {
    const text = `${writer}.${i}.${'x'.repeat(Math.random() * 20_000)}`
    const id = mine.at(-1)
    if (id === undefined || i % 3 === 0) {
      const made = (await send(i, 'PUT', ITEMS, { data: { text } }))?.body.data[0].id
      if (made === undefined) continue
      mine.push(made)
      ledger.known.set(`crash__Item ${made}`, { version: 0, text })
      note('create', made, 0)
      continue
    }
    const key = `crash__Item ${id}`
    const { version } = ledger.known.get(key) as { version: number }
    if (i % 3 === 1) {
      if (!(await send(i, 'POST', `${ITEMS}/${id}`, { data: { version, text } }))) continue
      ledger.known.set(key, { version: version + 1, text })
      note('update', id, version + 1)
    } else if (await send(i, 'DELETE', `${ITEMS}/${id}`)) {
      ledger.known.set(key, null)
      note('delete', id, version)
      mine.pop()
    }
  }
}

/** Reads must succeed all the time. */
async function read(work: Work): Promise<void> {
  const client = clientOf(work)
  while (!work.isOver)
    for (const path of [`${ITEMS}?limit=20&sort=-text&fields=size`, '/ws/changes?limit=5', '/ws/me', '/health']) {
      const { status, text } = await client.get(path)
      if (status !== 200 || (path === '/health' && !text.includes('"ready":true'))) work.faults.push(`${path}: ${text}`)
    }
}

/** All kinds of writes must be refused in the same way while the disk is full. */
async function refuseAll(work: Work): Promise<void> {
  const client = clientOf(work)
  const rows = `text\n${'x\n'.repeat(20_000)}`
  const attempts: [string, () => Promise<Answer>][] = [
    ['batch', () => client.post('/ws/batch', [{ create: 'crash.Part', data: { text: 'x'.repeat(50_000) } }])],
    ['import', () => client.send('POST', '/ws/rest/crash.Part/import', rows, { 'content-type': 'text/csv' })],
    ['user', () => client.put('/ws/users', { username: `u${Math.random()}`, password: PASSWORD, roles: [] })],
    ['token', () => client.put('/ws/me/tokens', { name: 'x' })],
    ['login', () => new Client(work.url).send('POST', '/callback', { username: 'admin', password: PASSWORD })],
  ]
  for (const [what, attempt] of attempts) {
    const { status, text } = await attempt()
    // A small write may still fit.
    if (status !== 507 && status !== 200) work.faults.push(`${what} on a full disk: ${text}`)
  }
}

async function whileManyWrite(folder: string, times: number): Promise<string[]> {
  const WRITERS = 12
  const { child, url } = await startService(folder)
  const { cookie = '' } = await login(url)
  const ledger = newLedger()
  const work: Work = { url, cookie, ledger, faults: [], isOver: false, taken: [], refused: [] }
  const following = follow(url, cookie, ledger.followed)
  const all = Promise.all([
    ...Array.from({ length: WRITERS }, (_, writer) => write(work, writer)),
    ...Array.from({ length: 3 }, () => read(work)),
  ])
  /** Waits until the count of every writer has grown by `more`. */
  const each = (what: string, counts: number[], more: number) => {
    const enough = Array.from({ length: WRITERS }, (_, writer) => (counts[writer] ?? 0) + more)
    const isSo = () => work.faults.length > 0 || enough.every((count, writer) => (counts[writer] ?? 0) >= count)
    return until(what, isSo).then((faults) => work.faults.push(...faults))
  }
  await each('all write', work.taken, 1)
  for (let nth = 0; nth < times && work.faults.length === 0; nth++) {
    fill(folder, Math.random() * 1_048_576)
    await each('everybody who writes is refused', work.refused, 3)
    await refuseAll(work)
    makeRoom(folder)
    await each('everybody writes again', work.taken, 3)
  }
  fill(folder)
  await each('everybody who writes is refused', work.refused, 1)
  work.isOver = true
  await all
  work.faults.push(...exitOf(child))
  const signal = times % 2 === 0 ? 'SIGKILL' : 'SIGTERM'
  await kill(child, signal)
  if (signal === 'SIGTERM' && child.exitCode !== 0) work.faults.push(`on a full disk it stopped with ${child.exitCode}`)
  await following
  makeRoom(folder)
  return [...work.faults, ...audit(folder, ledger), ...auditFollowed(folder, ledger.followed)]
}

/** Opens a read transaction, which keeps the log from being restarted. Returns a function that ends it. */
function lookFor(folder: string): () => void {
  const database = new Sqlite(join(folder, 'data', 'dossier.db'), { readonly: true })
  database.exec('BEGIN')
  database.prepare('SELECT count(*) FROM crash__Item').get()
  return () => database.close()
}

async function whileTheLogIsLarge(folder: string, isPatient: boolean): Promise<string[]> {
  const { child, url } = await startService(folder)
  const client = await login(url)
  const ledger = newLedger()
  const faults: string[] = []
  const put = async (length: number): Promise<number> => {
    const text = 'y'.repeat(length)
    const answer = await client.put(ITEMS, { text })
    if (answer.status === 200) ledger.known.set(`crash__Item ${answer.body.data[0].id}`, { version: 0, text })
    else if (answer.status !== 507) faults.push(answer.text)
    return answer.status
  }
  const isLarge = () =>
    (statSync(join(folder, 'data', 'dossier.db-wal'), { throwIfNoEntry: false })?.size ?? 0) > LARGE_LOG
  const couldNotEmpty = async () => COULD_NOT_EMPTY.test(await metrics(client))

  // Creates a large log that is mostly free for reuse: writes fit into it, but there is no space to empty it.
  let letGo = () => {}
  do {
    letGo()
    letGo = lookFor(folder)
    while (!isLarge() && faults.length === 0) await put(LONG)
    letGo()
    for (let nth = 0; nth < 3; nth++) await put(10)
    letGo = lookFor(folder)
    // The service may just have emptied the log.
  } while (!isLarge() && faults.length === 0)
  fill(folder)
  for (let nth = 0; nth < 20; nth++) await put(100_000)
  letGo()
  let status = 200
  for (let nth = 1; status === 200; nth++) {
    status = await put(1000)
    if (nth % 25 === 0 && (await couldNotEmpty())) break
  }
  while (status === 200) status = await put(LONG)
  if (!(await couldNotEmpty())) faults.push('the log could be emptied on a full disk, or nobody has tried')
  if (status !== 507) faults.push(`a write on a full disk was answered ${status}`)
  for (const path of [`${ITEMS}?limit=5&fields=size`, `${ITEMS}/1`, '/health'])
    if ((await client.get(path)).status !== 200) faults.push(`${path} cannot be read on a full disk`)
  makeRoom(folder)
  if ((await put(LONG)) !== 200) faults.push('a write is refused though there is room again')
  if (isPatient) faults.push(...(await until('the log is emptied', async () => (await put(10)) === 200 && !isLarge())))
  faults.push(...exitOf(child))
  await kill(child)
  return [...faults, ...audit(folder, ledger)]
}

async function metrics({ url, cookie = '' }: Client): Promise<string> {
  return (await fetch(`${url}/metrics`, { headers: { cookie } })).text()
}

export interface FullDisk {
  faults: string[]
  /** why no small file system could be mounted */
  why?: string
}

/** Fills the disk so many times while many clients write. */
export function fullWhileManyWrite(folder: string, times: number): Promise<FullDisk> {
  return elsewhere(folder, 48 + 4 * times, 'writes', times)
}

/** Fills the disk while the log is large. With `isPatient`, waits until the log has been emptied at last. */
export function fullWhileTheLogIsLarge(folder: string, isPatient: boolean): Promise<FullDisk> {
  return elsewhere(folder, 256, 'log', Number(isPatient))
}

async function elsewhere(folder: string, megabytes: number, what: string, much: number): Promise<FullDisk> {
  const { out, errors, why } = await onSmallDisk(folder, megabytes, import.meta.filename, [what, String(much)])
  if (why !== undefined) return { faults: [], why }
  return { faults: out.startsWith('[') ? JSON.parse(out) : [`${out}${errors}`] }
}

if (import.meta.main) {
  const [folder = '', what, much] = process.argv.slice(2)
  // The parent process has ended.
  process.stdin.resume().once('end', () => process.exit(1))
  makeCrashFolder(folder)
  const faults = await (what === 'log'
    ? whileTheLogIsLarge(folder, much === '1')
    : whileManyWrite(folder, Number(much)))
  process.stdin.destroy()
  process.stdout.write(JSON.stringify(faults))
}
