import { EventEmitter, once } from 'node:events'
import { request, type ServerResponse } from 'node:http'
import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { explainListening } from '../../src/http/address.ts'
import { Connections } from '../../src/http/connections.ts'
import { type FrontCallbacks, type Handler, HttpFront } from '../../src/http/front.ts'
import { block, receivedBy } from '../helper.ts'

/** A handler that answers with its name after a while. */
const slow = (name: string, ms = 150): Handler => ({
  isUrgent: ({ url }) => url === '/health',
  isStreamed: () => false,
  routing: (_request, response) => void sleep(ms).then(() => response.end(name)),
})

const UNOBSERVED: FrontCallbacks = { onWait: () => {}, onShed: () => {}, onDisconnect: () => {} }
const newFront = (handler: Handler) => new HttpFront(handler, UNOBSERVED)

const PATIENT = {
  headersTimeout: 5000,
  requestTimeout: 5000,
  keepAliveTimeout: 5000,
  connectionsCheckingInterval: 1000,
}

const ask = async (url: string, method = 'GET') => {
  const response = await fetch(url, { method })
  return { text: await response.text(), connection: response.headers.get('connection') }
}

/** The same, and when it has got its first request: on a busy machine that may take its time. */
function awaited(handler: Handler): { handler: Handler; arrived: Promise<void> } {
  const { promise: arrived, resolve } = Promise.withResolvers<void>()
  const routing: Handler['routing'] = (request, response) => {
    resolve()
    handler.routing(request, response)
  }
  return { handler: { ...handler, routing }, arrived }
}

t.test('handlers are replaced between requests', async (t) => {
  const { handler, arrived } = awaited(slow('first'))
  const front = newFront(handler)
  const url = await front.listen('127.0.0.1', 0)
  const early = ask(url)
  await arrived
  const replaced = front.replace(slow('second', 1))
  t.equal((await ask(url)).text, 'second')
  t.equal((await early).text, 'first', 'what was under way finishes where it began')
  await replaced
  await front.stop(1)
})

t.test('requests that are concerned wait while something is changed, others do not', async (t) => {
  const { handler, arrived } = awaited(slow('done'))
  const front = newFront(handler)
  const url = await front.listen('127.0.0.1', 0)
  const concerns = ({ method }: { method?: string }) => method === 'PUT'
  const early = ask(url, 'PUT')
  await arrived
  const order: string[] = []
  const { promise: changed, resolve: change } = Promise.withResolvers<void>()
  const held = front.holdRequests(concerns, async () => {
    order.push('work')
    await changed
    return 'result'
  })
  const late = ask(url, 'PUT').then(({ text }) => order.push(`late ${text}`))
  t.equal((await early).text, 'done', 'what has begun is waited for')
  t.equal((await ask(url)).text, 'done', 'others go on')
  order.push('other')
  change()
  t.equal(await held, 'result')
  await late
  t.strictSame(order, ['work', 'other', 'late done'])
  await t.rejects(
    front.holdRequests(concerns, async () => {
      throw new Error('no')
    }),
    /no/,
  )
  t.equal((await ask(url, 'PUT')).text, 'done', 'a failure lets requests go on')
  await front.stop(1)
})

t.test('more than can be held back are told to come again', async (t) => {
  const front = newFront(slow('done', 1))
  const url = await front.listen('127.0.0.1', 0)
  const { promise: changed, resolve: change } = Promise.withResolvers<void>()
  const held = front.holdRequests(
    () => true,
    () => changed,
    2,
  )
  const answers = [1, 2, 3].map(async () => (await fetch(url)).status)
  t.equal(await Promise.race(answers), 503)
  change()
  await held
  t.strictSame((await Promise.all(answers)).sort(), [200, 200, 503])
  await front.stop(1)
})

/** A front whose first handler lets each request wait for the next one, and answers those that cannot wait. */
async function frontWithNextApp(nextAppTimeoutMs?: number) {
  const isHeld: boolean[] = []
  const old = (): Handler => ({
    ...slow('old'),
    routing: (request, response) => {
      const hasToWait = front.holdForNextApp(request)
      isHeld.push(hasToWait)
      if (!hasToWait) response.end('old')
    },
  })
  let outdated = 0
  const events: FrontCallbacks = { ...UNOBSERVED, onWaitForNextApp: () => void outdated++ }
  const front: HttpFront = new HttpFront(old(), events, { nextAppTimeoutMs })
  const url = await front.listen('127.0.0.1', 0)
  const held = async (count: number) => {
    while (isHeld.length < count) await sleep(1)
  }
  return { front, url, old, held, isHeld, outdated: () => outdated }
}

t.test('a request that met other tables is answered by the next handler', async (t) => {
  const { front, url, old, held, outdated } = await frontWithNextApp()
  const first = ask(url)
  await held(1)
  const replaced = front.replace(old())
  await held(2)
  const next = front.replace(slow('new', 1))
  t.equal((await first).text, 'new', 'through two changes')
  await Promise.all([replaced, next])
  t.equal(outdated(), 2)
  const late: Handler = {
    ...slow('late'),
    routing: (request, response) => {
      void front.replace(slow('newer', 1))
      if (!front.holdForNextApp(request)) response.end('late')
    },
  }
  await front.replace(late)
  t.equal((await ask(url)).text, 'newer', 'the handler was replaced meanwhile')
  await front.replace(old())
  const stopped = ask(url)
  await held(3)
  await Promise.all([
    front.stop(1),
    stopped.then(({ text }) => t.match(text, /The models are being changed/, 'a stop does not wait for them')),
  ])
})

t.test('the bodies of requests that wait for another handler are bounded in sum', async (t) => {
  const { front, url, held, isHeld, old } = await frontWithNextApp()
  const { routing } = old()
  await front.replace({
    ...old(),
    routing: (request, response) => {
      request.bodyBytes = Buffer.alloc(40_000_000)
      routing(request, response)
    },
  })
  const first = ask(url)
  await held(1)
  t.equal((await ask(url)).text, 'old')
  t.strictSame(isHeld, [true, false])
  await front.replace(slow('new', 1))
  t.equal((await first).text, 'new')
  await front.stop(1)
})

t.test('a request that met other tables does not wait for ever', async (t) => {
  const { front, url, old, held, isHeld, outdated } = await frontWithNextApp(100)
  const left = connect(Number(new URL(url).port), '127.0.0.1')
  left.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n')
  await held(1)
  left.destroy()
  t.match((await ask(url)).text, /The models are being changed/)
  t.equal((await ask(url)).text, 'old', 'and then nobody waits in vain')
  t.strictSame(isHeld, [true, true, false])
  t.equal(outdated(), 3, 'but the service looks again')
  await front.replace(old())
  t.match((await ask(url)).text, /The models are being changed/, 'until there is another handler')
  await front.stop(1)
})

t.test('stopping: what is under way is answered, idle connections end at once', async (t) => {
  let arrived = 0
  const front = newFront({
    isUrgent: () => false,
    isStreamed: () => false,
    routing: (_request, response) => {
      arrived++
      void sleep(200).then(() => response.end('bye'))
    },
  })
  const url = await front.listen('127.0.0.1', 0)
  const idle = connect(Number(new URL(url).port), '127.0.0.1')
  await once(idle, 'connect')
  const underWay = ask(url)
  // One whose head is out already.
  const started = newFront({
    isUrgent: () => false,
    isStreamed: () => false,
    routing: (_request, response) => {
      arrived++
      response.write('a')
      void sleep(100).then(() => response.end('b'))
    },
  })
  const startedUrl = await started.listen('127.0.0.1', 0)
  const half = ask(startedUrl)
  while (arrived < 2) await sleep(5)
  const before = Date.now()
  await Promise.all([front.stop(5), started.stop(5)])
  t.ok(Date.now() - before < 5000, 'not only when time is up')
  t.strictSame(await underWay, { text: 'bye', connection: 'close' })
  t.equal((await half).text, 'ab')
  idle.destroy()
  await t.rejects(ask(url))
})

t.test('stopping: a request on a kept connection is answered, and the connection closed', async (t) => {
  const { handler, arrived } = awaited(slow('x', 100))
  const front = newFront(handler)
  const url = await front.listen('127.0.0.1', 0)
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  const answer = receivedBy(socket)
  // Two requests at once on one connection: the second is taken while the service stops.
  socket.write('GET /1 HTTP/1.1\r\nHost: x\r\n\r\n')
  await arrived
  const stopped = front.stop(5)
  socket.write('GET /2 HTTP/1.1\r\nHost: x\r\n\r\n')
  await Promise.all([stopped, once(socket, 'close')])
  t.match(answer(), /200 OK[\s\S]*connection: close/i)
})

t.test('stopping: not for longer than the limit', async (t) => {
  const front = newFront({ isUrgent: () => false, isStreamed: () => false, routing: () => {} })
  const url = await front.listen('127.0.0.1', 0)
  const hanging = new Promise<string>((resolve) =>
    request(url)
      .on('error', (error) => resolve(error.message))
      .end(),
  )
  await sleep(50)
  await front.stop(0.2)
  t.match(await hanging, /hang up|ECONNRESET/)
})

t.test('addresses', async (t) => {
  const front = newFront(slow('x', 1))
  t.match(await front.listen('::1', 0), /^http:\/\/\[::1\]:\d+$/)
  const other = newFront(slow('x', 1))
  await t.rejects(other.listen('203.0.113.7', 0), /does not have the address 203\.0\.113\.7\. Set HOST/)
  const said = (code: string) => explainListening(Object.assign(new Error('?'), { code }), 'here', 80).message
  t.match(said('EADDRINUSE'), /Port 80 of here is taken .* set PORT/)
  t.match(said('EACCES'), /Port 80 is for privileged programs only\. Set PORT to 1024/)
  t.match(said('ENOTFOUND'), /no machine called "here"\. Set HOST/)
  t.match(said('EAI_AGAIN'), /"here" cannot be looked up\. Set HOST/)
  t.equal(said('EWHATEVER'), '?', 'what nobody foresaw stays as it is')
  await front.stop(1)
})

t.test('who is too slow is not waited for', async (t) => {
  const timeouts = {
    headersTimeout: 100,
    requestTimeout: 200,
    keepAliveTimeout: 100,
    connectionsCheckingInterval: 50,
    timeout: 1000,
  }
  const front = new HttpFront(slow('x', 1), UNOBSERVED, { timeouts })
  const url = await front.listen('127.0.0.1', 0)
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  const answer = receivedBy(socket)
  socket.write('GET / HTTP/1.1\r\nX-Slow: ')
  await once(socket, 'close')
  t.match(answer(), /^HTTP\/1\.1 400[\s\S]*BAD_REQUEST/)
  const bomb = connect(Number(new URL(url).port), '127.0.0.1')
  bomb.write(`GET / HTTP/1.1\r\nX-Large: ${'x'.repeat(100_000)}\r\n\r\n`)
  bomb.resume().on('error', () => {})
  await once(bomb, 'close')
  t.equal((await ask(url)).text, 'x')
  await front.stop(1)
})

t.test('a body that takes too long; an upload that goes on, and one that does not', async (t) => {
  const handler: Handler = {
    isUrgent: () => false,
    isStreamed: ({ url }) => url === '/upload',
    routing: (request, response) => void request.resume().once('end', () => response.end('all')),
  }
  const listen = async (timeout: number) => {
    const front = new HttpFront(handler, UNOBSERVED, { timeouts: { ...PATIENT, requestTimeout: 100, timeout } })
    return { front, port: Number(new URL(await front.listen('127.0.0.1', 0)).port) }
  }
  const send = (port: number, path: string) => {
    const socket = connect(port, '127.0.0.1').on('error', () => {})
    socket.write(`POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Length: 8\r\n\r\n`)
    return { socket, answer: receivedBy(socket) }
  }
  // On a busy machine, minutes may pass between two bytes.
  const [patient, hasty] = await Promise.all([listen(300_000), listen(300)])
  const slow = send(patient.port, '/')
  await once(slow.socket, 'close')
  t.match(slow.answer(), /^HTTP\/1\.1 400/)
  const upload = send(patient.port, '/upload')
  for (let i = 0; i < 8; i++) {
    await sleep(50)
    upload.socket.write('x')
  }
  await once(upload.socket, 'data')
  t.match(upload.answer(), /^HTTP\/1\.1 200[\s\S]*all/)
  upload.socket.destroy()
  const stuck = send(hasty.port, '/upload')
  await once(stuck.socket, 'close')
  t.equal(stuck.answer(), '')
  await Promise.all([patient.front.stop(1), hasty.front.stop(1)])
})

t.test(
  'overload: who would wait too long is turned away, who does not wait is left out, and /health is answered',
  async (t) => {
    const served: string[] = []
    let shed = 0
    const waits: number[] = []
    const busy: Handler = {
      isUrgent: ({ url }) => url === '/health',
      isStreamed: () => false,
      routing: ({ url = '' }, response) => {
        served.push(url)
        block(url === '/health' ? 0 : 12)
        response.end('served')
      },
    }
    const front = new HttpFront(busy, {
      onWait: (ms) => waits.push(ms),
      onShed: () => shed++,
      onDisconnect: () => {},
    })
    const url = await front.listen('127.0.0.1', 0)
    const { port } = new URL(url)
    const kept = Array.from({ length: 160 }, () => connect(Number(port), '127.0.0.1'))
    const leaving = Array.from({ length: 20 }, () => connect(Number(port), '127.0.0.1'))
    await Promise.all([...kept, ...leaving].map((socket) => once(socket, 'connect')))
    const health = connect(Number(port), '127.0.0.1')
    await once(health, 'connect')
    // Until the server has accepted them all.
    await sleep(200)
    const answers = kept.map(async (socket, index) => {
      // Between the others: some would be served, some turned away.
      if (index % 8 === 0) leaving[index / 8]?.write('GET /left HTTP/1.1\r\nHost: x\r\n\r\n')
      socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n')
      return String((await once(socket, 'data'))[0])
    })
    await sleep(50)
    for (const socket of leaving) socket.destroy()
    health.write('GET /health HTTP/1.1\r\nHost: x\r\n\r\n')
    t.match(String((await once(health, 'data'))[0]), /served/)
    const all = await Promise.all(answers)
    t.ok(served.indexOf('/health') < served.length - 1, 'health does not wait for its turn')
    const refused = all.filter((answer) => answer.startsWith('HTTP/1.1 503'))
    t.ok(refused.length > 0)
    t.equal(refused.length, shed)
    t.ok(waits.some((ms) => ms > 900) && waits.length < all.length)
    t.match(refused[0], /retry-after: 1[\s\S]*"code":"UNAVAILABLE"[\s\S]*"requestId":/)
    t.equal(all.length - refused.length, served.filter((path) => path === '/').length)
    t.ok(served.filter((path) => path === '/left').length < 5, 'but for those taken up before they left')
    for (const socket of [...kept, health]) socket.destroy()
    await front.stop(1)
  },
)

t.test('requests without end on one connection: it is closed', async (t) => {
  let served = 0
  const front = newFront({
    isUrgent: () => false,
    isStreamed: () => false,
    routing: (_request, response) => {
      served++
      block(1)
      response.end()
    },
  })
  const url = await front.listen('127.0.0.1', 0)
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  socket.resume().on('error', () => {})
  socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(20_000))
  await new Promise((resolve) => socket.on('close', resolve))
  t.ok(served <= 200)
  await front.stop(1)
})

t.test('stopping: an answer that is on its way arrives whole', async (t) => {
  const size = 20_000_000
  const front = newFront({
    isUrgent: () => false,
    isStreamed: () => false,
    routing: (_request, response) => response.end('x'.repeat(size)),
  })
  const url = await front.listen('127.0.0.1', 0)
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n')
  await once(socket, 'readable')
  let received = 0
  const stopped = front.stop(10)
  await sleep(50)
  socket.on('data', (chunk) => {
    received += chunk.length
  })
  await Promise.all([stopped, once(socket, 'close')])
  t.ok(received > size)
})

t.test('a change does not wait for ever for who is still sending', async (t) => {
  const front = newFront({ isUrgent: () => false, isStreamed: () => false, routing: (request) => request.resume() })
  const url = await front.listen('127.0.0.1', 0)
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  socket.on('error', () => {})
  socket.write('PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n12345')
  await sleep(50)
  t.equal(
    await front.holdRequests(
      () => true,
      async () => 'changed',
    ),
    'changed',
  )
  socket.destroy()
  await front.stop(1)
})

t.test('one request of a connection after the other, and what is broken last', async (t) => {
  const seen: string[] = []
  const front = newFront({
    isUrgent: () => false,
    isStreamed: () => false,
    routing: async ({ url = '' }, response) => {
      seen.push(url)
      await sleep(30)
      seen.push(`${url} done`)
      response.end(url)
    },
  })
  const { port } = new URL(await front.listen('127.0.0.1', 0))
  const socket = connect(Number(port), '127.0.0.1')
  const answer = receivedBy(socket)
  socket.write('GET /a HTTP/1.1\r\nHost: x\r\n\r\nGET /b HTTP/1.1\r\nHost: x\r\n\r\nrubbish\r\n\r\n')
  await once(socket, 'close')
  t.strictSame(seen, ['/a', '/a done', '/b', '/b done'])
  t.match(answer(), /200 OK[\s\S]*\/a[\s\S]*200 OK[\s\S]*\/b[\s\S]*400 Bad Request/)
  await front.stop(1)
})

t.test('who does not read is cut off', async (t) => {
  const timeouts = { ...PATIENT, timeout: 200 }
  const body = 'x'.repeat(50_000_000)
  const front = new HttpFront(
    { isUrgent: () => false, isStreamed: () => false, routing: (_request, response) => answering.resolve(response) },
    UNOBSERVED,
    { timeouts },
  )
  const answering = Promise.withResolvers<ServerResponse>()
  const { port } = new URL(await front.listen('127.0.0.1', 0))
  const socket = connect(Number(port), '127.0.0.1')
  socket.on('error', () => {})
  const closed = once(socket, 'close')
  socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n')
  const response = await answering.promise
  response.end(body)
  await once(response, 'close')
  let received = 0
  socket.on('data', (chunk) => {
    received += chunk.length
  })
  await closed
  t.ok(received < body.length)
  await front.stop(1)
})

t.test('who waits for an answer is not cut off', async (t) => {
  const front = new HttpFront(slow('late', 500), UNOBSERVED, { timeouts: { ...PATIENT, timeout: 100 } })
  t.equal((await ask(await front.listen('127.0.0.1', 0))).text, 'late')
  await front.stop(1)
})

t.test('all that waits to be read is bounded', async (t) => {
  const destroyed: string[] = []
  const connections = new Connections(
    { onNextRequest: () => {}, onResponseClosed: () => {}, isStreamed: () => false, answerParseError: () => {} },
    1000,
  )
  const socket = (name: string, writableLength: number) =>
    Object.assign(new EventEmitter(), { writableLength, bytesRead: 1, destroy: () => destroyed.push(name) })
  for (const [name, length] of [
    ['idle', 0],
    ['small', 10],
    ['large', 500],
    ['larger', 800],
  ] as const)
    connections.add(socket(name, length) as unknown as Socket)
  connections.boundUnsent(1500)
  t.strictSame(destroyed, [])
  connections.boundUnsent(400)
  t.strictSame(destroyed, ['larger', 'large'])
  connections.stop()
})

t.test('who sent something broken and does not hang up does not hold up a stop', async (t) => {
  const front = newFront(slow('x', 1))
  const url = await front.listen('127.0.0.1', 0)
  const socket = connect({ port: Number(new URL(url).port), host: '127.0.0.1', allowHalfOpen: true })
  socket.on('error', () => {})
  socket.write('rubbish\r\n\r\n')
  t.match(String((await once(socket, 'data'))[0]), /BAD_REQUEST/)
  const before = performance.now()
  await front.stop(5)
  t.ok(performance.now() - before < 5000, 'not only when time is up')
  socket.destroy()
})

t.test('what did not arrive whole never will', async (t) => {
  const heads: Handler = {
    isUrgent: () => false,
    isStreamed: () => false,
    routing: ({ url }, response) => {
      if (url === '/early') response.write('begun')
    },
  }
  const front = newFront(heads)
  const { port } = new URL(await front.listen('127.0.0.1', 0))
  const send = async (path: string, body: string) => {
    const socket = connect(Number(port), '127.0.0.1')
    socket.on('error', () => {})
    const answer = receivedBy(socket)
    const closed = once(socket, 'close')
    socket.write(`POST ${path} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n`)
    await sleep(50)
    socket.write(body)
    await closed
    return answer()
  }
  t.match(await send('/', 'zz\r\n'), /^HTTP\/1\.1 400/, 'a chunk that is none')
  t.match(
    await send('/early', 'zz\r\n'),
    /^HTTP\/1\.1 200 OK[\s\S]*begun/,
    'nothing is put into an answer that has begun',
  )
  const half = connect({ port: Number(port), host: '127.0.0.1', allowHalfOpen: true })
  half.on('error', () => {})
  const closed = once(half, 'close')
  half.end('POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 500\r\n\r\n{"a"')
  half.resume()
  await closed
  await front.stop(1)
})
