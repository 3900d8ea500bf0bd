import { join } from 'node:path'
import { measure, type Work } from './load.ts'
import { median, say, table } from './report.ts'
import { modelsWithoutHistory, residentMb, startDossier, startHandwritten, stop } from './servers.ts'

const RECORDS = 30_000
/** How many times the hand-written server's rate each kind of work should reach: with history, and without. */
export const GOALS: Record<Work, number> = { read: 0.7, find: 1, again: 1.6, create: 1.3, update: 1.3 }
const GOALS_WITHOUT: Partial<Record<Work, number>> = { create: 1.5, update: 1.5 }

/** How fast a kind of work was on both servers, in requests per second. */
export interface Result {
  work: Work
  goal: number
  withoutHistory: boolean
  handwritten: number
  dossier: number
}

/** All kinds of work, turn by turn on all servers: what disturbs one turn disturbs them all. */
export async function compareWork(folder: string, rounds: number, seconds: number): Promise<Result[]> {
  const handwritten = await startHandwritten(join(folder, 'handwritten'), RECORDS)
  const dossier = await startDossier(join(folder, 'dossier'), RECORDS)
  const plain = await startDossier(join(folder, 'plain'), RECORDS, modelsWithoutHistory(folder))
  const before = residentMb(dossier)
  const results: Result[] = []
  for (const work of Object.keys(GOALS) as Work[]) {
    say(`measuring ${work} …`)
    const without = GOALS_WITHOUT[work]
    const servers = without === undefined ? [handwritten, dossier] : [handwritten, dossier, plain]
    // They need some requests until they are compiled.
    for (const server of servers) await measure(server, work, seconds)
    const rates: number[][] = servers.map(() => [])
    for (let round = 0; round < rounds; round++)
      for (const [index, server] of servers.entries()) rates[index]?.push(await measure(server, work, seconds))
    const [hand = 0, own = 0, quick = 0] = rates.map(median)
    results.push({ work, goal: GOALS[work], withoutHistory: false, handwritten: hand, dossier: own })
    if (without !== undefined)
      results.push({ work, goal: without, withoutHistory: true, handwritten: hand, dossier: quick })
  }
  table(
    `Requests per second, 32 connections, ${RECORDS} records, medians of ${rounds} rounds of ${seconds} s`,
    ['work', 'hand-written', 'dossier', 'ratio', 'goal'],
    results.map(({ work, goal, withoutHistory, handwritten, dossier }) => [
      withoutHistory ? `${work}, no history` : work,
      handwritten.toFixed(0),
      dossier.toFixed(0),
      (dossier / handwritten).toFixed(2),
      String(goal),
    ]),
  )
  say(`Resident memory: ${before.toFixed(0)} MB before this load, ${residentMb(dossier).toFixed(0)} MB after it.`)
  for (const server of [handwritten, dossier, plain]) await stop(server)
  return results.filter(({ withoutHistory }) => !withoutHistory)
}
