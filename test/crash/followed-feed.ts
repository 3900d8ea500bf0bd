import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import Sqlite from 'better-sqlite3'
import { login } from '../client.ts'
import { kill, startService } from './harness.ts'

/** Changes that a client has received, across all connections and restarts of the service. */
export interface Followed {
  /** "number operation table id version", in the order of arrival */
  told: string[]
  /** "operation table id version" of the acknowledged writes */
  acknowledged: string[]
  last: number
}

export const newFollowed = (): Followed => ({ told: [], acknowledged: [], last: 0 })

/** Reads the stream of changes from the last received one until the connection breaks. */
export async function follow(url: string, cookie: string, followed: Followed, isOver = () => false): Promise<void> {
  const controller = new AbortController()
  let text = ''
  try {
    const { body, status } = await fetch(`${url}/ws/changes/stream?since=0`, {
      headers: { cookie, ...(followed.last > 0 && { 'last-event-id': String(followed.last) }) },
      signal: controller.signal,
    })
    if (status !== 200) followed.told.push(`the stream answered ${status}`)
    for await (const chunk of body as unknown as AsyncIterable<Uint8Array>) {
      text += Buffer.from(chunk).toString()
      const whole = text.split('\n\n')
      text = whole.pop() as string
      for (const event of whole) note(event, followed)
      if (isOver()) controller.abort()
    }
  } catch {
    // The service is dead, or `isOver` has ended the request.
  }
}

function note(event: string, followed: Followed): void {
  const data = /^data: (.*)$/m.exec(event)?.[1]
  if (data === undefined) return
  const { change, operation, model, id, version, record } = JSON.parse(data)
  followed.last = change
  followed.told.push(`${change} ${operation} ${model.replace('.', '__')} ${id} ${version}`)
  const isRight = operation === 'delete' ? record === null : record?.version === version
  if (!isRight) followed.told.push(`${change} has another record: ${JSON.stringify(record)}`)
}

/** Checks that received changes are the journal's first ones, in order, and acknowledged ones are in it once. */
export function auditFollowed(folder: string, { told, acknowledged }: Followed): string[] {
  const database = new Sqlite(join(folder, 'data', 'dossier.db'), { readonly: true })
  const written = database
    .prepare(`SELECT change || ' ' || operation || ' ' || replace(model, '.', '__') || ' ' || id || ' ' || version
      FROM dossier_changes ORDER BY change`)
    .pluck()
    .all() as string[]
  database.close()
  const kept = new Map(written.map((line) => [line.replace(/^\d+ /, ''), line]))
  return [
    ...told.flatMap((line, index) =>
      line === written[index] ? [] : [`told: ${line}, but written: ${written[index]}`],
    ),
    ...acknowledged.filter((line) => !kept.has(line)).map((line) => `acknowledged, but not written down: ${line}`),
    ...(kept.size === written.length ? [] : ['something was written down twice']),
  ]
}

/** Receives all remaining changes from a restarted service. Returns the faults. */
export async function followToTheEnd(folder: string, followed: Followed): Promise<string[]> {
  const { child, url } = await startService(folder)
  const client = await login(url)
  let next = 0
  for (let count = 1; count > 0; ) {
    const { body } = await client.get(`/ws/changes?since=${next}&limit=1000`)
    next = body.next
    count = body.data.length
  }
  const following = follow(url, client.cookie as string, followed, () => followed.last >= next)
  await Promise.race([following, sleep(20_000)])
  await kill(child)
  const faults = auditFollowed(folder, followed)
  return followed.last >= next ? faults : [...faults, `told up to ${followed.last} of ${next}`]
}
