import { join } from 'node:path'
import { measure, type Work } from './load.ts'
import { median, say, table } from './report.ts'
import { residentMb, startDossier, startHandwritten, stop } from './servers.ts'

const RECORDS = 30_000
/** How many times the hand-written server's rate each kind of work should reach. */
export const GOALS: Record<Work, number> = { read: 0.7, find: 1, create: 1.5, update: 1.5 }

/** How fast a kind of work was on both servers, in requests per second. */
export interface Result {
  work: Work
  handwritten: number
  dossier: number
}

/** The four kinds of work, turn by turn on both servers: what disturbs one turn disturbs both. */
export async function compareWork(folder: string, rounds: number, seconds: number): Promise<Result[]> {
  const handwritten = await startHandwritten(join(folder, 'handwritten'), RECORDS)
  const dossier = await startDossier(join(folder, 'dossier'), RECORDS)
  const before = residentMb(dossier)
  const results: Result[] = []
  for (const work of Object.keys(GOALS) as Work[]) {
    say(`measuring ${work} …`)
    // Both need some requests until they are compiled.
    for (const server of [handwritten, dossier]) await measure(server, work, seconds)
    const rates: { handwritten: number; dossier: number }[] = []
    for (let round = 0; round < rounds; round++)
      rates.push({
        handwritten: await measure(handwritten, work, seconds),
        dossier: await measure(dossier, work, seconds),
      })
    results.push({
      work,
      handwritten: median(rates.map((rate) => rate.handwritten)),
      dossier: median(rates.map((rate) => rate.dossier)),
    })
  }
  table(
    `Requests per second, 32 connections, ${RECORDS} records, medians of ${rounds} rounds of ${seconds} s`,
    ['work', 'hand-written', 'dossier', 'ratio', 'goal'],
    results.map(({ work, handwritten, dossier }) => [
      work,
      handwritten.toFixed(0),
      dossier.toFixed(0),
      (dossier / handwritten).toFixed(2),
      String(GOALS[work]),
    ]),
  )
  say(`Resident memory: ${before.toFixed(0)} MB before this load, ${residentMb(dossier).toFixed(0)} MB after it.`)
  await stop(handwritten)
  await stop(dossier)
  return results
}
