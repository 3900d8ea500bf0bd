import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { type AddressInfo, connect, createServer } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { login, PASSWORD } from './client.ts'
import { makeFolder, startApp, writeModel } from './helper.ts'

const SERVER = join(import.meta.dirname, '../src/start.js')

/** The real process, as `npm start` starts it. */
function spawnServer(t: Test, folder: string, env: Record<string, string> = {}) {
  const child = spawn(process.execPath, [SERVER], {
    cwd: folder,
    env: { ...process.env, HOST: '127.0.0.1', PORT: '0', ADMIN_PASSWORD: PASSWORD, LOG_LEVEL: 'info', ...env },
  })
  t.teardown(() => child.kill('SIGKILL'))
  let output = ''
  const read = (chunk: Buffer) => {
    output += chunk
  }
  child.stdout.on('data', read)
  child.stderr.on('data', read)
  return { child, output: () => output }
}

const importing = (file: string) => ({ NODE_OPTIONS: `${process.env.NODE_OPTIONS ?? ''} --import=${file}` })

async function listening({ child, output }: { child: ChildProcess; output(): string }): Promise<string> {
  for (;;) {
    const url = /listening at (http:[^"\s]+)/.exec(output())?.[1]
    if (url) return url
    if (child.exitCode !== null) throw new Error(output())
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}

t.test('start, work, stop', async (t) => {
  const folder = makeFolder(t)
  writeFileSync(join(folder, '.env'), 'PROT=80\n')
  writeFileSync(join(folder, 'models', 'notes.yaml'), '')
  const server = spawnServer(t, folder, { ADMIN_PASSWORD: '', WATCH_MODELS: 'false' })
  const url = await listening(server)
  const password = /Password: +(\S+)/.exec(server.output())?.[1] as string
  const client = await login(url, 'admin', password)
  t.equal((await client.put('/ws/rest/contacts.Contact', { firstName: 'Ada' })).status, 200)
  writeModel(folder, 'notes.Note.json', { type: 'object', properties: { x: { type: 'string' } } })
  server.child.kill('SIGHUP')
  while ((await client.get('/ws/rest/notes.Note')).status !== 200)
    await new Promise((resolve) => setTimeout(resolve, 20))
  // A model that does not end does not hold up the stop.
  writeModel(folder, 'notes.Loop.js', 'for (;;) {}')
  server.child.kill('SIGHUP')
  server.child.kill('SIGTERM')
  t.strictSame(await once(server.child, 'exit'), [0, null])
  t.notOk(server.output().includes('Ada'), 'no record body in the log')
  t.equal(server.output().split(password).length, 2, 'the password is shown once')
  t.match(server.output(), /Dossier stops: SIGTERM[\s\S]*was not reloaded: the service stops[\s\S]*Dossier has stopped/)
  t.match(server.output(), /"level":40[^\n]*no setting PROT, and it is passed over\. Did you mean/)
  t.match(server.output(), /"level":40[^\n]*notes\.yaml is passed over/)
  t.match(server.output(), /"method":"PUT","url":"\/ws\/rest\/contacts.Contact","status":200/)
})

t.test('what stops the start says what to do, without a stack', async (t) => {
  const scenarios: [folder: string, env: Record<string, string>, message: RegExp][] = [
    [makeFolder(t), { PORT: 'x' }, /Setting PORT must be integer/],
    [makeFolder(t), { TRUST_PROXY: 'true' }, /Setting TRUST_PROXY/],
    [makeFolder(t), { DATA_DIR: '/dev/null/x' }, /cannot be opened for writing/],
    [makeFolder(t), { MODELS_DIR: 'nowhere' }, /models folder does not exist/],
    [makeFolder(t), { HOST: '203.0.113.7' }, /does not have the address 203\.0\.113\.7\. Set HOST/],
    [makeFolder(t), { HOST: 'no such host' }, /no such host". (Set HOST|.*cannot be looked up)/],
  ]
  const start = async ([folder, env, message]: (typeof scenarios)[number]) => {
    const server = spawnServer(t, folder, env)
    const [code] = await once(server.child, 'close')
    t.equal(code, 1)
    t.match(server.output(), message)
    t.notMatch(server.output(), /\n {4}at /)
  }
  await Promise.all(scenarios.map(start))
  const fail = join(makeFolder(t), 'fail.mjs')
  writeFileSync(fail, 'performance.now = () => { throw new Error("out of the blue") }')
  const unforeseen = spawnServer(t, makeFolder(t), importing(fail))
  t.strictSame(await once(unforeseen.child, 'close'), [1, null])
  t.match(unforeseen.output(), /out of the blue[\s\S]*\n {4}at /, 'what nobody foresaw comes with its stack')
})

t.test('a first start on a taken port makes no user: the password would never be seen', async (t) => {
  const folder = makeFolder(t)
  const taken = createServer().listen(0, '127.0.0.1')
  await once(taken, 'listening')
  const { port } = taken.address() as AddressInfo
  const first = spawnServer(t, folder, { ADMIN_PASSWORD: '', PORT: String(port) })
  t.strictSame(await once(first.child, 'close'), [1, null])
  t.match(first.output(), new RegExp(`Port ${port} of 127.0.0.1 is taken by another program`))
  await new Promise((resolve) => taken.close(resolve))
  const second = spawnServer(t, folder, { ADMIN_PASSWORD: '' })
  const url = await listening(second)
  t.ok(await login(url, 'admin', /Password: +(\S+)/.exec(second.output())?.[1] as string))
})

t.test(
  'where the first password cannot be shown, nobody is made; a log that cannot be written stops nobody',
  async (t) => {
    const folder = makeFolder(t)
    const start = (env: Record<string, string>) => {
      const words = ['-c', `exec "$0" "$1" > /dev/full`, process.execPath, SERVER]
      const child = spawn('sh', words, { cwd: folder, env: { ...process.env, PORT: '0', LOG_LEVEL: 'info', ...env } })
      t.teardown(() => child.kill('SIGKILL'))
      return child
    }
    const first = start({ ADMIN_PASSWORD: '' })
    let said = ''
    first.stderr.on('data', (chunk) => {
      said += chunk
    })
    t.strictSame(await once(first, 'close'), [1, null])
    t.match(said, /^Dossier cannot start\.\nENOSPC: no space left on device/)
    t.notMatch(said, /\n {4}at /)
    const probe = createServer().listen(0, '127.0.0.1')
    await once(probe, 'listening')
    const { port } = probe.address() as AddressInfo
    await new Promise((resolve) => probe.close(resolve))
    const second = start({ ADMIN_PASSWORD: PASSWORD, PORT: String(port) })
    const url = `http://127.0.0.1:${port}`
    for (let isUp = false; !isUp; )
      isUp = await fetch(`${url}/health`).then(
        (answer) => answer.ok,
        () => false,
      )
    const client = await login(url)
    for (let i = 0; i < 50; i++) t.equal((await client.get('/ws/rest/contacts.Contact')).status, 200)
    second.kill('SIGTERM')
    t.strictSame(await once(second, 'exit'), [0, null])
  },
)

t.test('an older Node is told in a sentence', async (t) => {
  const older = join(makeFolder(t), 'older.mjs')
  writeFileSync(older, 'Object.defineProperty(process, "versions", { value: { ...process.versions, node: "20.1.0" } })')
  const server = spawnServer(t, makeFolder(t), importing(older))
  t.strictSame(await once(server.child, 'close'), [1, null])
  t.match(server.output(), /^Dossier needs Node 24 or newer/)
  t.notMatch(server.output(), /\n {4}at /)
})

t.test('an unexpected error in the process is logged and ends it', async (t) => {
  const folder = makeFolder(t)
  writeFileSync(join(folder, 'fail.mjs'), 'process.on("SIGUSR2", () => { throw new Error("out of the blue") })')
  const server = spawnServer(t, folder, importing(join(folder, 'fail.mjs')))
  await listening(server)
  server.child.kill('SIGUSR2')
  const [code] = await once(server.child, 'close')
  t.equal(code, 1)
  t.match(server.output(), /"level":60.*out of the blue/)
})

t.test('what is not HTTP, and what is hardly', async (t) => {
  const { url } = await startApp(t)
  const { port } = new URL(url)
  const raw = (text: string) =>
    new Promise<string>((resolve) => {
      let answer = ''
      const socket = connect(Number(port), '127.0.0.1', () => socket.write(text))
      socket.on('data', (chunk) => {
        answer += chunk
      })
      socket.on('close', () => resolve(answer))
    })
  t.match(await raw('complete nonsense\r\n\r\n'), /^HTTP\/1\.1 400 Bad Request[\s\S]*"code":"BAD_REQUEST"/)
  t.match(
    await raw('GET /%zz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n'),
    /^HTTP\/1\.1 400[\s\S]*"code":"BAD_REQUEST"/,
  )

  const unescaped = await raw('GET /ws/rest/contacts.Contact?lastName=stra\u00dfe HTTP/1.1\r\nHost: x\r\n\r\n')
  t.match(unescaped, /^HTTP\/1\.1 400[\s\S]*Escape all others/)
  t.match(unescaped, /stra%C3%9Fe/)
  const [head, body] = unescaped.split('\r\n\r\n') as [string, string]
  t.match(head, `Content-Length: ${Buffer.byteLength(body)}`, 'a client reads the whole body')
  t.match(JSON.parse(body), { code: 'BAD_REQUEST' })

  // A connection that breaks in the middle leaves nobody to answer.
  const socket = connect(Number(port), '127.0.0.1')
  await once(socket, 'connect')
  socket.write('POST /callback HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{')
  socket.resetAndDestroy()
  const answer = await new Promise<number | undefined>((resolve) => {
    request(`${url}/health`, (response) => resolve(response.statusCode)).end()
  })
  t.equal(answer, 200)
})

t.test('a signal that arrives twice is one; a second one, later, ends the process', async (t) => {
  const folder = makeFolder(t)
  const server = spawnServer(t, folder, { SHUTDOWN_SECONDS: '30' })
  const url = new URL(await listening(server))
  // A request that is under way holds up the stop.
  const socket = connect(Number(url.port), url.hostname)
  socket.on('error', () => {})
  socket.write('POST /callback HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 60\r\n\r\n{')
  await once(socket, 'connect')
  while ((await fetch(`${url}health`)).status !== 200);
  server.child.kill('SIGTERM')
  server.child.kill('SIGTERM')
  server.child.kill('SIGINT')
  while (!server.output().includes('Dossier stops')) await new Promise((resolve) => setTimeout(resolve, 10))
  await new Promise((resolve) => setTimeout(resolve, 500))
  t.equal(server.child.exitCode, null, 'it goes on stopping')
  t.notMatch(server.output(), /second/)
  await new Promise((resolve) => setTimeout(resolve, 2000))
  server.child.kill('SIGTERM')
  // A thread that runs native code at this moment makes Node abort instead.
  t.match(String(await once(server.child, 'exit')), /^(?:1,|,SIGABRT)$/)
  t.match(server.output(), /second SIGTERM, exiting/)
  socket.destroy()
})
