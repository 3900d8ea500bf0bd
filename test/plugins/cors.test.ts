import t from 'tap'
import { startApp } from '../helper.ts'

const CONTACTS = '/ws/rest/contacts.Contact'
const APP = 'https://app.example.org'
const ask = { origin: APP, 'access-control-request-method': 'PUT', 'access-control-request-headers': 'authorization' }

t.test('pages of some origins may call with a token', async (t) => {
  const app = await startApp(t, { env: { CORS_ORIGINS: `${APP}, http://localhost:5173` } })
  const admin = await app.login()
  const { token } = (await admin.put('/ws/me/tokens', { name: 'page' })).body.data[0]
  const preflight = await app.stranger.send('OPTIONS', CONTACTS, undefined, ask)
  t.equal(preflight.status, 204)
  t.equal(preflight.headers.get('access-control-allow-origin'), APP)
  t.match(preflight.headers.get('access-control-allow-headers'), /authorization.*idempotency-key/)
  t.match(preflight.headers.get('access-control-allow-methods'), /PUT.*DELETE/)
  t.equal(preflight.headers.get('access-control-allow-credentials'), null, 'never with a cookie')
  const page = { origin: APP, 'sec-fetch-site': 'cross-site' }
  const bearer = { ...page, authorization: `Bearer ${token}` }
  const made = await app.stranger.send('PUT', CONTACTS, { data: { firstName: 'Ada' } }, bearer)
  t.equal(made.status, 200)
  t.equal(made.headers.get('access-control-allow-origin'), APP)
  t.match(made.headers.get('access-control-expose-headers'), /etag.*idempotency-replayed/)
  t.match(made.headers.get('vary'), /Origin/i)
  const cookie = await admin.send('PUT', CONTACTS, { data: { firstName: 'Ada' } }, page)
  t.equal(cookie.status, 403)
  t.equal(cookie.headers.get('access-control-allow-credentials'), null)
  const wrong = await app.stranger.send('GET', CONTACTS, undefined, { ...page, authorization: 'Bearer dos_x' })
  t.equal(wrong.status, 401)
  t.equal(wrong.headers.get('access-control-allow-origin'), APP, 'a page can read why not')
  for (const origin of ['https://evil.example', 'https://app.example.org.evil.example', 'null']) {
    const other = await app.stranger.send('OPTIONS', CONTACTS, undefined, { ...ask, origin })
    t.equal(other.headers.get('access-control-allow-origin'), null, origin)
    t.equal(other.status, 401)
  }
  t.equal((await admin.send('OPTIONS', CONTACTS)).status, 204)
})

t.test('without the setting there are none', async (t) => {
  const app = await startApp(t)
  const { status, headers } = await app.stranger.send('OPTIONS', CONTACTS, undefined, ask)
  t.equal(status, 401)
  t.equal(headers.get('access-control-allow-origin'), null)
})
