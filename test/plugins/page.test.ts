import t from 'tap'
import { startApp } from '../helper.ts'

const MOST_BYTES = 70_000

t.test('the page and its files', async (t) => {
  const app = await startApp(t)
  const admin = await app.login()
  const get = (path: string, headers: Record<string, string> = {}) =>
    fetch(app.url + path, { headers: { 'accept-encoding': 'identity', ...headers } })
  const response = await get('/')
  const text = await response.text()
  t.equal(response.status, 200)
  t.match(Object.fromEntries(response.headers), {
    'content-type': 'text/html; charset=utf-8',
    'cache-control': 'private, no-cache',
    'x-content-type-options': 'nosniff',
    'content-security-policy': /^default-src 'none'; script-src 'self'; style-src 'self';/,
  })
  t.notMatch(text, 'dossier-user', 'a stranger is told nothing')
  t.notMatch(text, /<style|style=|onload|src="http/, 'nothing that the policy would refuse')
  const etag = String(response.headers.get('etag'))
  t.equal((await get('/', { 'if-none-match': etag })).status, 304)
  const own = await get('/', { 'if-none-match': etag, cookie: String(admin.cookie) })
  t.equal(own.status, 200, 'who is logged in gets another one')
  t.match(await own.text(), '<meta name="dossier-user" content="{&quot;username&quot;:&quot;admin&quot;,')

  const files = [...text.matchAll(/(?:href|src)="(\/page\/[^"]+)"/g)].map(([, path]) => path as string)
  t.ok(files.length <= 45, `${files.length} requests`)
  let bytes = text.length
  for (const path of new Set(files)) {
    const zipped = await fetch(app.url + path, { headers: { 'accept-encoding': 'gzip' } })
    t.equal(zipped.headers.get('content-encoding'), 'gzip')
    t.equal(zipped.headers.get('cache-control'), 'public, max-age=31536000, immutable')
    t.match(zipped.headers.get('content-type'), /^text\/(?:javascript|css); charset=utf-8$/)
    bytes += Number(zipped.headers.get('content-length'))
  }
  t.ok(bytes <= MOST_BYTES, `a first visit is ${bytes} bytes`)
  const main = files.find((path) => path.endsWith('/main.js')) as string
  const script = await (await get(main)).text()
  const [later] = /\w+-[A-Z0-9]{8}\.js/.exec(script) as RegExpExecArray
  t.equal((await get(main.replace('main.js', later))).status, 200, 'what is needed later')
  const page = await app.stranger.send('GET', main.replace(/page\/[^/]+/, 'page/0000000000000000'))
  t.match(page, { status: 404, body: { code: 'ROUTE_NOT_FOUND' } }, 'another version of the page')
  for (const path of ['..%2fservice.ts', 'tsconfig.json', '__proto__', 'library/'])
    t.equal((await get(main.replace('main.js', path))).status, 404, path)
  t.match(await admin.send('POST', '/'), { status: 405 })
  t.notMatch(Object.keys((await admin.get('/openapi.json')).body.paths), ['/page'], 'it is no part of the API')
  const raw = await fetch(app.url + main, { headers: { 'accept-encoding': 'gzip' } })
  t.equal(await raw.text(), script)
})

t.test('it can be left out', async (t) => {
  const app = await startApp(t, { env: { PAGE: 'false' } })
  t.match(await app.stranger.get('/'), { status: 401 })
  t.match(await (await app.login()).get('/'), { status: 404, body: { code: 'ROUTE_NOT_FOUND' } })
})
