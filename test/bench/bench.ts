import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { formatTable } from '../../src/cli/table.ts'
import { measure, type Target, type Work } from './load.ts'
import { type BenchServer, manyModels, pinLoad, startBare, startDossier, startHandwritten, stop } from './servers.ts'

/**
 * `npm run bench [-- ROUNDS SECONDS]`: the service beside a hand-written server, turn by turn in one run, each on one core
 * with the load on another. What counts is the ratio: it holds on another machine, the numbers do not.
 */
const [rounds = 3, seconds = 3] = process.argv.slice(2).map(Number)
const RECORDS = 30_000
const MANY = 1_000_000
const GOALS: Record<Work, number> = { read: 0.7, find: 1, create: 1.5, update: 1.5 }

const folder = mkdtempSync(join(tmpdir(), 'dossier-bench-'))
const say = (text: string) => process.stdout.write(`${text}\n`)
const median = (numbers: number[]) => numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)] as number

pinLoad()
try {
  await compareWork()
  await compareSizes()
  await compareStarts()
} finally {
  rmSync(folder, { recursive: true, force: true })
}

async function compareWork() {
  const handwritten = await startHandwritten(join(folder, 'handwritten'), RECORDS)
  const dossier = await startDossier(join(folder, 'dossier'), RECORDS)
  const rows: string[][] = []
  for (const work of Object.keys(GOALS) as Work[]) {
    const rates: Record<'handwritten' | 'dossier', number[]> = { handwritten: [], dossier: [] }
    for (let round = 0; round < rounds; round++) {
      rates.handwritten.push(await measure(handwritten, work, seconds))
      rates.dossier.push(await measure(dossier, work, seconds))
    }
    const [hand, ours] = [median(rates.handwritten), median(rates.dossier)]
    rows.push([work, hand.toFixed(0), ours.toFixed(0), (ours / hand).toFixed(2), String(GOALS[work])])
  }
  say(`\nRequests per second, 32 connections, ${RECORDS} records, medians of ${rounds} rounds`)
  say(formatTable(['work', 'hand-written', 'dossier', 'ratio', 'goal'], rows))
  await stop(handwritten.child)
  await stop(dossier.child)
}

/** How long one request takes, without any other beside it. */
async function timeOf({ url, cookie }: Target, path: string): Promise<number> {
  const times: number[] = []
  for (let i = 0; i < 60; i++) {
    const start = performance.now()
    const response = await fetch(url + path, { headers: { cookie } })
    await response.text()
    times.push(performance.now() - start)
  }
  return median(times)
}

async function compareSizes() {
  const CONTACTS = '/ws/rest/contacts.Contact'
  const small = await startDossier(join(folder, 'small'), 1000)
  const large = await startDossier(join(folder, 'large'), MANY)
  const hand = await startHandwritten(join(folder, 'hand-large'), MANY)
  const deep = `${CONTACTS}?offset=900000&limit=40`
  const rows = [
    [
      'find at offset 0: a million records over a thousand',
      await timeOf(large, CONTACTS),
      await timeOf(small, CONTACTS),
    ],
    ['find at offset 900,000: count(*) and OFFSET over ours', await timeOf(hand, deep), await timeOf(large, deep)],
    [
      'indexed filter with total: a million over a thousand',
      await timeOf(large, `${CONTACTS}?email=person7@example.org`),
      await timeOf(small, `${CONTACTS}?email=person7@example.org`),
    ],
  ] as const
  say('Flat at any size: milliseconds per request')
  say(
    formatTable(
      ['', 'first', 'second', 'ratio'],
      rows.map(([what, a, b]) => [what, a.toFixed(2), b.toFixed(2), (a / b).toFixed(1)]),
    ),
  )
  for (const server of [small, large, hand]) await stop(server.child)
}

function residentMb({ pid }: { pid?: number | undefined }): number {
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024
}

async function compareStarts() {
  const one: BenchServer = await startDossier(join(folder, 'one'), 0)
  const many = await startDossier(join(folder, 'many'), 0, manyModels(join(folder, 'many'), 200))
  const bare = await startBare()
  say('Start and memory')
  say(
    formatTable(
      ['', 'start to first answer', 'resident memory'],
      [
        ['bare Fastify', `${bare.startMs.toFixed(0)} ms`, `${residentMb(bare.child).toFixed(0)} MB`],
        ['the example model', `${one.startMs.toFixed(0)} ms`, `${residentMb(one.child).toFixed(0)} MB`],
        ['200 models', `${many.startMs.toFixed(0)} ms`, `${residentMb(many.child).toFixed(0)} MB`],
        [
          '200 models over one',
          (many.startMs / one.startMs).toFixed(2),
          (residentMb(many.child) / residentMb(one.child)).toFixed(2),
        ],
        [
          'one over bare',
          (one.startMs / bare.startMs).toFixed(2),
          (residentMb(one.child) / residentMb(bare.child)).toFixed(2),
        ],
      ],
    ),
  )
  for (const { child } of [one, many, bare]) await stop(child)
}
