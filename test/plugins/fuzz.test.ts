import { Agent, request as send } from 'node:http'
import fc from 'fast-check'
import t from 'tap'
import { request } from '../fuzz.ts'
import { CONTACT, startApp, THING } from '../helper.ts'

const MODELS = {
  'contacts.Contact.json': CONTACT,
  'test.Thing.json': {
    ...THING,
    properties: { ...THING.properties, who: { type: 'integer', reference: 'contacts.Contact' } },
  },
}

t.test('whatever is sent, the answer is never a 500, and always of one shape', async (t) => {
  const service = await startApp(t, { models: MODELS })
  const client = await service.login()
  const agent = new Agent({ keepAlive: true })
  t.teardown(() => agent.destroy())
  const { port } = new URL(service.url)
  const ask = (sent: { method: string; url: string; headers: Record<string, string>; text: string }) =>
    new Promise<{ status: number; body: string }>((resolve, reject) => {
      const headers = {
        cookie: client.cookie as string,
        ...sent.headers,
        'content-length': Buffer.byteLength(sent.text),
      }
      const outgoing = send({ port, agent, method: sent.method, path: sent.url, headers }, (response) => {
        let body = ''
        response.setEncoding('utf8').on('data', (chunk) => {
          body += chunk
        })
        response.on('end', () => resolve({ status: response.statusCode as number, body }))
      })
      outgoing.on('error', reject).end(sent.text)
    })
  const statuses = new Map<number, number>()
  await fc.assert(
    fc.asyncProperty(request, async (sent) => {
      if (sent.url.startsWith('/logout')) return
      const { status, body } = await ask(sent)
      statuses.set(status, (statuses.get(status) ?? 0) + 1)
      if (status >= 500) throw new Error(`${status} ${body}`)
      const isMetrics = sent.url === '/' || sent.url.startsWith('/metrics') || sent.url.startsWith('/openapi.json')
      if (status === 204 || status === 304) return
      // Whoever types a wrong address into a browser gets a page.
      const isVisit = status === 404 && sent.headers.accept === 'text/html' && !sent.url.startsWith('/ws')
      if (isVisit && sent.method === 'GET' && body.startsWith('<!doctype html>')) return
      if (sent.method !== 'HEAD' && !(isMetrics && status === 200) && typeof JSON.parse(body).status !== 'number')
        throw new Error(body)
    }),
    { numRuns: 3000, seed: 1 },
  )
  t.ok(
    (statuses.get(200) ?? 0) > 100 && (statuses.get(400) ?? 0) > 100 && (statuses.get(422) ?? 0) > 30,
    JSON.stringify([...statuses]),
  )
  t.equal((await client.get('/ws/me')).status, 200)
})
