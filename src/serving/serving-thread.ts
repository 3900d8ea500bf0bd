import type { IncomingMessage, ServerResponse } from 'node:http'
import { type MessagePort, parentPort, workerData } from 'node:worker_threads'
import { buildApp } from '../app.ts'
import { type Handler, HttpFront } from '../http/front.ts'
import { mayWriteTo } from '../http/may-write-to.ts'
import { createLogger } from '../logging.ts'
import type { Model } from '../model/model.ts'
import { openThreadReads } from '../storage/open.ts'
import { serializeError } from '../storage/thread-errors.ts'
import { tableShapes } from '../tables/shape.ts'
import { Damage } from '../upkeep/damage.ts'
import { Metrics } from '../upkeep/metrics.ts'
import { forward } from './forward.ts'
import type { FromThread, StorageRequest, ThreadOrder, ThreadRequest, ThreadStart, ToThread } from './messages.ts'
import { RemoteCalls } from './remote-calls.ts'
import { isServedHere } from './served-here.ts'
import { SwapFollower } from './swap-follower.ts'
import { ThreadStorage } from './thread-storage.ts'

/*
 * A serving thread beside the main one: an HTTP server on the same port, an app, and a connection for reads. It knows
 * only how to serve. The service in the main thread tells it which models, and when.
 */

type App = Awaited<ReturnType<typeof buildApp>>

const port = parentPort as MessagePort
const start = workerData as ThreadStart
const { config, memoryShare, canWaitForNextApp } = start

const send = (message: FromThread) => port.postMessage(JSON.stringify(message))
/** Log lines are sent together, once per turn of the event loop. */
let lines: string[] = []
const logLine = (line: string): void => {
  if (lines.push(line) > 1) return
  setImmediate(() => {
    const all = lines
    lines = []
    send({ do: 'log', lines: all })
  })
}

const calls = new RemoteCalls<StorageRequest>(send)
const reads = await openThreadReads(start.reads as Parameters<typeof openThreadReads>[0])
const storage = new ThreadStorage(reads, calls, (search) => send({ do: 'cancel', search }))
const metrics = new Metrics(false)
const log = createLogger(config, false, { write: logLine })
const damage = new Damage({ fatal: (error: unknown) => send({ do: 'damage', error: serializeError(error) }) })

const holdForNextApp = canWaitForNextApp ? (request: IncomingMessage) => front.holdForNextApp(request) : undefined
const build = (models: Model[]) =>
  buildApp({ config, storage, models, logger: log, metrics, damage, memoryShare, holdForNextApp })

let current = await build(start.models)
let prepared: App | undefined
let endHold: (() => void) | undefined
const swaps = new SwapFollower(port, start.swapCounter, start.swapCount, onMessage)

const front = new HttpFront(
  handlerFor(current),
  {
    beforeRequest: swaps.follow,
    onWait: metrics.observeWait,
    onDisconnect: metrics.countDropped,
    onShed: metrics.countShed,
    onWaitForNextApp: () => send({ do: 'waitsForNextApp' }),
  },
  { memoryShare },
)

const forwardEvents = { beforeAnswer: swaps.follow, onShed: metrics.countShed }

/** Serves some requests itself, and forwards all others to the main thread. */
function handlerFor({ routing, isUrgent, isStreamed }: App): Handler {
  return {
    isUrgent,
    isStreamed,
    routing: (request: IncomingMessage, response: ServerResponse) => {
      if (isServedHere(request)) routing(request, response)
      else forward(start.forward, request, response, forwardEvents)
    },
  }
}

function onMessage(text: string): void {
  const message: ToThread = JSON.parse(text)
  if ('done' in message || 'failed' in message) calls.resolveCall(message)
  else if ('id' in message) {
    const { id } = message
    answer(message).then(
      (done) => send({ id, done: done ?? null }),
      (error) => send({ id, failed: serializeError(error) }),
    )
  } else carryOut(message)
}

function carryOut(order: ThreadOrder): void {
  if (order.do === 'swap') swap(order.swapCount)
  else if (order.do === 'discard') {
    prepared?.close().catch((error: unknown) => log.warn(error, 'an app that is not needed could not be closed'))
    prepared = undefined
  } else {
    reads.releaseSnapshot()
    endHold?.()
  }
}

function swap(to: number): void {
  const previous = current
  current = prepared as App
  prepared = undefined
  swaps.swapCount = to
  reads.assumeShapes(tableShapes([...current.models.values()]))
  const closed = front.replace(handlerFor(current)).then(() => previous.close())
  closed.catch((error) => log.warn(error, 'an app that is not served any more could not be closed'))
  // After the swap: the new app must not read the tables as they were before.
  reads.releaseSnapshot()
}

async function answer(request: ThreadRequest): Promise<unknown> {
  switch (request.do) {
    case 'listen':
      return front.listen(request.host, request.port, true)
    case 'prepare':
      prepared = await build(request.models)
      return
    case 'hold':
      return hold(request.models)
    case 'keepSnapshot':
      return reads.keepSnapshot()
    case 'metrics':
      return metrics.values()
    case 'stop':
      await front.stop(request.seconds)
      await current.close()
      await storage.close()
      // Nothing else keeps the thread alive.
      setImmediate(() => port.close())
  }
}

/** Resolves when no request that writes to these models is in progress; others wait until `release`. */
function hold(changing: string[]): Promise<void> {
  return new Promise((resolve, reject) => {
    const until = () =>
      new Promise<void>((end) => {
        endHold = end
        resolve()
      })
    // The main thread holds those that are forwarded to it.
    const concerns = (request: IncomingMessage) => isServedHere(request) && mayWriteTo(request, changing)
    front.holdRequests(concerns, until).catch(reject)
  })
}

port.on('message', onMessage)
send({ do: 'ready' })
