import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { login } from '../helper.ts'
import { importedAgain, sentAgain } from './again.ts'
import { fileOf, Oracle, randomNumbers } from './edits.ts'
import { followToTheEnd } from './follow.ts'
import { crashRound, kill, makeCrashFolder, newLedger, startService } from './harness.ts'
import { crashNodes } from './nodes.ts'

/** `npm run crash [-- ROUNDS] [--engine=postgres]`: kills the service over and over while many clients write, and while models change. */
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

/** Whoever sends each request until it is answered has each thing done once. */
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

/** An edit is followed, or cut short by a kill; after the next start all values are as before it or as after it. */
async function whileModelsChange(): Promise<void> {
  const place = join(folder, 'edits')
  makeCrashFolder(place)
  const seed = Date.now() % 1_000_000
  const random = randomNumbers(seed)
  const oracle = new Oracle(random)
  const file = join(place, 'models', 'edit.Thing.json')
  const save = (fields: object) => writeFileSync(file, JSON.stringify(fields))
  save(oracle.file)
  let kills = 0
  for (let round = 1; round <= 5 * rounds; round++) {
    let { child, url } = await startService(place)
    let client = await login(url)
    stopAt(await oracle.check(client))
    stopAt(await oracle.write(client, 5))
    const next = oracle.nextFields()
    const isAccepted = oracle.accepts(next)
    save(fileOf(next))
    // The watcher waits for a moment, then the tables change.
    await setTimeout(200 + random(250))
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

if (isPostgres) stopAt(await crashNodes(join(folder, 'nodes'), rounds, say))
else {
  await whileManyWrite()
  await whileAllIsSentAgain()
  await whileModelsChange()
}
rmSync(folder, { recursive: true })
say('Nothing acknowledged was lost.')
