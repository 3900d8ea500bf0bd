import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { login } from '../client.ts'
import { startPostgres } from '../postgres-server.ts'
import { rightsRound } from '../rights/round.ts'
import { changeUnderLoad } from './changes-under-load.ts'
import { damagedPage } from './damaged-page.ts'
import { changeModelsWhileAway } from './database-outage.ts'
import { leftAlone } from './early-disconnects.ts'
import { followToTheEnd } from './followed-feed.ts'
import { type FullDisk, fullWhileManyWrite, fullWhileTheLogIsLarge } from './full-disk.ts'
import { crashRound, kill, makeCrashFolder, newLedger, startService } from './harness.ts'
import { fileOf, makeTargets, Oracle, randomNumbers, TARGET } from './model-edits.ts'
import { crashNodes } from './nodes.ts'
import { importedAgain, sentAgain } from './repeated-requests.ts'

/**
 * `npm run crash [-- ROUNDS] [--engine=postgres]`: kills the service repeatedly while many clients write, and while
 * models change. Also fills its disk, damages a page of its database, disconnects before the response, and stops its
 * database.
 */
const isPostgres = process.argv.includes('--engine=postgres')
const rounds = Number(process.argv.slice(2).find((word) => /^\d+$/.test(word)) ?? 50)
const say = (line: string) => process.stdout.write(`${line}\n`)
const folder = mkdtempSync(join(tmpdir(), 'dossier-crash-'))

function stopAt(faults: string[]): void {
  if (faults.length === 0) return
  say(`${faults.join('\n')}\nThe data is in ${folder}`)
  process.exit(1)
}

async function whileManyWrite(): Promise<void> {
  const place = join(folder, 'writes')
  makeCrashFolder(place)
  const ledger = newLedger()
  for (let round = 1; round <= rounds; round++) {
    const faults = await crashRound(place, ledger, 32, 1, Math.random() * 1500)
    const { told } = ledger.followed
    say(
      `round ${round} of ${rounds}: ${ledger.acknowledged} writes acknowledged, ${told.length} told, ${faults.length} faults`,
    )
    stopAt(faults)
  }
  stopAt(await followToTheEnd(place, ledger.followed))
  say(`${ledger.followed.told.length} changes were told in order, each once`)
}

/** Clients retry each request until it is answered: each must be executed once. */
async function whileAllIsSentAgain(): Promise<void> {
  const place = join(folder, 'again')
  makeCrashFolder(place)
  const { faults, answered, again } = await sentAgain(place, rounds, 32, () => Math.random() * 300)
  say(
    `${answered} requests were sent until they were answered, ${again} of them had been carried out before: each once`,
  )
  stopAt(faults)
  const taken = await importedAgain(place, rounds, 1000 * rounds, () => Math.random() * 100)
  say(`${1000 * rounds} rows were taken in, cut short by a kill after ${taken.stages.join(', ')}: each once`)
  stopAt(taken.faults)
}

/** Edits are interrupted by a kill. After the next start, all values must be as before or as after the edit. */
async function whileModelsChange(): Promise<void> {
  const place = join(folder, 'edits')
  makeCrashFolder(place)
  const seed = Date.now() % 1_000_000
  const random = randomNumbers(seed)
  const oracle = new Oracle(random)
  const file = join(place, 'models', 'edit.Thing.json')
  const save = (fields: object) => writeFileSync(file, JSON.stringify(fields))
  save(oracle.file)
  writeFileSync(join(place, 'models', 'edit.Target.json'), JSON.stringify(TARGET))
  const first = await startService(place)
  await makeTargets(await login(first.url))
  await kill(first.child)
  let kills = 0
  for (let round = 1; round <= 5 * rounds; round++) {
    let { child, url } = await startService(place)
    let client = await login(url)
    stopAt(await oracle.check(client))
    stopAt(await oracle.write(client, 5))
    const next = oracle.nextFields()
    const isAccepted = oracle.accepts(next)
    save(fileOf(next))
    // The watcher waits briefly before the tables change: the kill comes before, during or after that.
    await sleep(200 + random(250))
    await kill(child)
    kills++
    if (isAccepted) oracle.follow(next)
    else save(oracle.file)
    ;({ child, url } = await startService(place))
    client = await login(url)
    stopAt(
      (await oracle.check(client)).map((fault) => `seed ${seed}, round ${round}, ${JSON.stringify(next)}: ${fault}`),
    )
    await kill(child, random(2) === 0 ? 'SIGKILL' : 'SIGTERM')
    if (round % 25 === 0) say(`${round} of ${5 * rounds} edits, ${kills} cut short by a kill: no value lost`)
  }
}

/** Clients disconnect before the response and retry with the same key: each request must be executed once. */
async function whileManyLeave(): Promise<void> {
  const place = join(folder, 'leave')
  makeCrashFolder(place)
  const { faults, left, replayed, things } = await leftAlone(place, 32, 2 * rounds)
  say(`${things} things were asked for and left alone ${left} times, ${replayed} had been done before: each once`)
  stopAt(faults)
}

/** Random rules, people and requests, compared with a naive evaluation of who may see and do what. */
async function whileRightsAreRandom(): Promise<void> {
  const requests = 200
  for (let round = 1; round <= 10 * rounds; round++) {
    const seed = Math.floor(Math.random() * 1_000_000_000)
    const place = join(folder, `rights${round}`)
    let running: Awaited<ReturnType<typeof startService>> | undefined
    const fault = await rightsRound(seed, requests, async (files) => {
      makeCrashFolder(place)
      for (const [name, file] of Object.entries(files)) writeFileSync(join(place, 'models', name), JSON.stringify(file))
      running = await startService(place)
      const { url } = running
      return { admin: await login(url), loginAs: (username) => login(url, username) }
    })
    if (running) await kill(running.child)
    stopAt(fault === undefined ? [] : [fault])
    if (round % 10 === 0) say(`${round * requests} requests under random rules: nothing out of reach appeared`)
  }
}

async function whileTheDiskIsFull(): Promise<void> {
  const told = (what: string, { faults, why }: FullDisk) => {
    say(why === undefined ? `${what}: ${faults.length} faults` : `${what} is left out, for there is none (${why})`)
    stopAt(faults)
  }
  const times = Math.min(rounds, 20)
  told(`a disk that was full ${times} times`, await fullWhileManyWrite(join(folder, 'full'), times))
  told('a full disk and a large log', await fullWhileTheLogIsLarge(join(folder, 'log'), true))
}

async function whileAPageIsDamaged(): Promise<void> {
  for (let round = 1; round <= Math.ceil(rounds / 5); round++) {
    const model = round % 2 === 0 ? 'Item' : 'Part'
    const where = Math.random()
    const faults = await damagedPage(join(folder, `damaged${round}`), model, where)
    say(`a damaged page of ${model}, at ${where.toFixed(2)} of it: ${faults.length} faults`)
    stopAt(faults)
  }
}

/** Tests of nodes on PostgreSQL servers, which are deleted afterwards. */
async function onPostgres(): Promise<void> {
  stopAt(await crashNodes(join(folder, 'nodes'), rounds, say))
  stopAt(await changeModelsWhileAway(join(folder, 'away'), rounds, say))
  const steady = join(folder, 'steady')
  await onOwnServer(async () => stopAt(await changeUnderLoad(steady, { edits: 5 * rounds, killEvery: 10, say })))
  await onOwnServer(whileManyLeave)
}

/** Both count all records of the same model, so they cannot share a database. */
async function onOwnServer(run: () => Promise<void>): Promise<void> {
  const server = await startPostgres()
  process.env.DATABASE_URL = server.url
  await run()
  await server.stop()
}

if (isPostgres) await onPostgres()
else {
  await whileManyWrite()
  await whileAllIsSentAgain()
  await whileManyLeave()
  await whileModelsChange()
  await whileRightsAreRandom()
  await whileTheDiskIsFull()
  await whileAPageIsDamaged()
}
rmSync(folder, { recursive: true })
say('Nothing acknowledged was lost.')
