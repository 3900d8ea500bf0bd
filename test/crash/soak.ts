import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client, PASSWORD } from '../client.ts'
import { kill, makeCrashFolder, startService } from './harness.ts'

/** `npm run soak [-- MINUTES]`: constant load; memory may not grow by more than 25 % after the first third. */
const minutes = Number(process.argv[2] ?? 3)
const folder = mkdtempSync(join(tmpdir(), 'dossier-soak-'))
makeCrashFolder(folder)
const { child, url } = await startService(folder)
const client = new Client(url)
await client.send('POST', '/callback', { username: 'admin', password: PASSWORD })

const memory = async () => {
  const response = await fetch(`${url}/metrics`, { headers: { cookie: client.cookie as string } })
  const text = await response.text()
  const megabytes = (name: string) => Number(new RegExp(`^${name} (\\S+)`, 'm').exec(text)?.[1]) / 1_048_576
  return { heap: megabytes('nodejs_heap_size_used_bytes'), resident: megabytes('process_resident_memory_bytes') }
}

const start = Date.now()
const elapsed = () => (Date.now() - start) / 60_000
let requests = 0
let failures = 0
const work = async (worker: number) => {
  for (let i = 0; elapsed() < minutes; i++) {
    const { body } = await client.put('/ws/rest/crash.Item', { text: `${worker} ${i}`, size: String(i % 100) })
    const { id } = body.data[0]
    const answers = [
      await client.post(`/ws/rest/crash.Item/${id}`, { version: 0, text: 'changed' }),
      await client.get(`/ws/rest/crash.Item?size=${i % 100}&sort=-id&limit=5`),
      await client.get('/ws/rest/crash.Item/999999999'),
      await client.put('/ws/rest/crash.Item', { nonsense: true }),
      await client.delete(`/ws/rest/crash.Item/${id}`),
    ]
    requests += answers.length + 1
    failures += answers.filter(({ status }) => status >= 500).length
  }
}
const workers = Array.from({ length: 8 }, (_, worker) => work(worker))
let early: { heap: number; resident: number } | undefined
while (elapsed() < minutes) {
  await new Promise((resolve) => setTimeout(resolve, Math.min(10_000, (minutes * 60_000) / 9)))
  const now = await memory()
  if (elapsed() > minutes / 3) early ??= now
  process.stdout.write(
    `${elapsed().toFixed(1)} min: ${requests} requests, heap ${now.heap.toFixed(0)} MB, resident ${now.resident.toFixed(0)} MB\n`,
  )
}
await Promise.all(workers)
const late = await memory()
await kill(child, 'SIGTERM')
rmSync(folder, { recursive: true })
const growth = late.resident / (early?.resident ?? late.resident)
process.stdout.write(
  `${requests} requests, ${failures} server errors, resident memory grew by a factor of ${growth.toFixed(2)}\n`,
)
process.exit(failures > 0 || growth > 1.25 ? 1 : 0)
