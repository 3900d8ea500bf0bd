import t from 'tap'
import { PASSWORD } from '../client.ts'
import { startApp } from '../helper.ts'

const CONTACTS = '/ws/rest/contacts.Contact'
const credentials = { username: 'admin', password: PASSWORD }

t.test('what pages of other sites cannot do', async (t) => {
  const service = await startApp(t)
  const client = await service.login()
  const { host } = new URL(service.url)
  const scenarios: [headers: Record<string, string>, method: string, path: string, status: number][] = [
    [{ 'sec-fetch-site': 'cross-site' }, 'PUT', CONTACTS, 403],
    [{ 'sec-fetch-site': 'cross-site' }, 'POST', `${CONTACTS}/1`, 403],
    [{ 'sec-fetch-site': 'cross-site' }, 'DELETE', `${CONTACTS}/1`, 403],
    [{ 'sec-fetch-site': 'cross-site' }, 'POST', '/callback', 403],
    [{ 'sec-fetch-site': 'cross-site' }, 'GET', '/logout', 403],
    [{ 'sec-fetch-site': 'cross-site' }, 'GET', CONTACTS, 200],
    [{ 'sec-fetch-site': 'same-origin' }, 'PUT', CONTACTS, 200],
    [{ origin: 'https://evil.example' }, 'PUT', CONTACTS, 403],
    [{ origin: 'null' }, 'PUT', CONTACTS, 403],
    [{ origin: `http://${host}` }, 'PUT', CONTACTS, 200],
    [{ origin: `https://${host}` }, 'PUT', CONTACTS, 200],
    // A proxy may have changed the host: what a browser says of the site counts.
    [{ 'sec-fetch-site': 'same-origin', origin: 'https://records.example' }, 'PUT', CONTACTS, 200],
    [{ 'sec-fetch-site': 'none', origin: 'https://records.example' }, 'PUT', CONTACTS, 200],
    [{ 'sec-fetch-site': 'same-site', origin: `http://${host}` }, 'PUT', CONTACTS, 403],
    [{ 'sec-fetch-site': 'cross-site', origin: `http://${host}` }, 'PUT', CONTACTS, 403],
    [{ 'sec-fetch-site': 'anything else' }, 'PUT', CONTACTS, 403],
    [{}, 'PUT', CONTACTS, 200],
  ]
  for (const [headers, method, path, status] of scenarios) {
    const body = path === '/callback' ? credentials : { data: { firstName: 'x' } }
    // node's fetch sets sec-fetch-site and origin by itself, so these go over plain http.
    const answer = await send(
      service.url + path,
      method,
      method === 'GET' || method === 'DELETE' ? '' : JSON.stringify(body),
      {
        cookie: client.cookie as string,
        ...headers,
      },
    )
    t.equal(answer, status, `${method} ${path} with ${JSON.stringify(headers)}`)
  }
  t.equal((await client.get('/ws/me')).status, 200, 'the session was not ended from elsewhere')
})

t.test('a trusted proxy says what the host is; others do not', async (t) => {
  const headers = { origin: 'https://records.example', 'x-forwarded-host': 'records.example' }
  const trusting = await startApp(t, { env: { TRUST_PROXY: '127.0.0.1' } })
  t.equal(await send(`${trusting.url}/callback`, 'POST', JSON.stringify(credentials), headers), 200)
  const wary = await startApp(t)
  t.equal(await send(`${wary.url}/callback`, 'POST', JSON.stringify(credentials), headers), 403)
})

t.test('PUBLIC_URL is the origin that people use', async (t) => {
  const { url } = await startApp(t, { env: { PUBLIC_URL: 'https://records.example/' } })
  const post = (headers: Record<string, string>) =>
    send(`${url}/callback`, 'POST', JSON.stringify(credentials), headers)
  t.equal(await post({ origin: 'https://records.example' }), 200)
  t.equal(await post({ origin: 'https://records.example', 'sec-fetch-site': 'same-site' }), 200)
  t.equal(await post({ origin: 'http://records.example' }), 403)
  t.equal(await post({ origin: 'https://records.example.evil' }), 403)
  t.equal(await post({ 'sec-fetch-site': 'cross-site' }), 403)
})

t.test('headers', async (t) => {
  const service = await startApp(t)
  for (const client of [service.stranger, await service.login()]) {
    const { headers } = await client.get(CONTACTS)
    t.equal(headers.get('x-content-type-options'), 'nosniff')
    t.equal(headers.get('content-security-policy'), "default-src 'none';frame-ancestors 'none'")
    t.equal(headers.get('cache-control'), 'no-store')
    t.equal(headers.get('x-powered-by'), null)
    t.equal(headers.get('strict-transport-security'), null, 'not over plain HTTP')
  }
  const behindProxy = await startApp(t, { env: { TRUST_PROXY: '127.0.0.1' } })
  const { headers } = await behindProxy.stranger.send('GET', CONTACTS, undefined, { 'x-forwarded-proto': 'https' })
  t.equal(headers.get('strict-transport-security'), 'max-age=31536000')
  const all = await startApp(t, { env: { TRUST_PROXY: '127.0.0.1', HSTS_SUBDOMAINS: 'true' } })
  const { headers: wide } = await all.stranger.send('GET', CONTACTS, undefined, { 'x-forwarded-proto': 'https' })
  t.equal(wide.get('strict-transport-security'), 'max-age=31536000; includeSubDomains')
})

async function send(url: string, method: string, body: string, headers: Record<string, string>): Promise<number> {
  const { request } = await import('node:http')
  return new Promise((resolve, reject) => {
    const type = body ? { 'content-type': 'application/json' } : {}
    const sent = request(url, { method, headers: { ...type, ...headers } }, (response) => {
      response.resume().on('end', () => resolve(response.statusCode as number))
    })
    sent.on('error', reject).end(body)
  })
}
