import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { isEventStream } from '../src/lib/event-stream.ts'

declare module 'fastify' {
  interface FastifyInstance {
    /** Registers a callback for the end of every request, also if the client disconnected before the answer. */
    onEnded(run: OnEnded): void
  }
  interface FastifyRequest {
    ending: Ending
    /** Releases everything that the request holds: another app answers it. It does not end in this one. */
    handOver(): void
    /** Calls `run` when the response is closed: the answer has been sent, or the client has disconnected. */
    whenClosed(run: () => void): void
    /** Calls `run` when the answer is ready to send, also if the client has disconnected. Register before that. */
    whenAnswered(run: () => void): void
  }
}

type OnEnded = (request: FastifyRequest, reply: FastifyReply, isDropped: boolean) => void

interface Ending {
  isClosed: boolean
  isHandedOver: boolean
  onClosed: (() => void)[]
  onAnswered: (() => void)[]
}

/** After a client disconnects, its handler may run for this long before `onAnswered` is called anyway. */
const UNANSWERED_MS = 60_000

/**
 * Releases the resources of requests, in one place. Fastify's `onResponse` does not run when the client has
 * disconnected; the response's `close` event is always emitted.
 */
async function requestEnd(app: FastifyInstance) {
  const listeners: OnEnded[] = []
  app.decorate('onEnded', (run) => void listeners.push(run))
  app.decorateRequest('ending', undefined as unknown as Ending)

  app.decorateRequest('whenClosed', function (run) {
    if (this.ending.isClosed) run()
    else this.ending.onClosed.push(run)
  })

  app.decorateRequest('whenAnswered', function (run) {
    const { ending } = this
    ending.onAnswered.push(run)
    // A handler that never answers must not hold resources forever.
    this.whenClosed(() => setTimeout(runOnAnswered, UNANSWERED_MS, ending).unref())
  })

  app.decorateRequest('handOver', function () {
    this.ending.isHandedOver = true
    runOnClosed(this.ending)
    runOnAnswered(this.ending)
  })

  app.addHook('onRequest', (request, reply, done) => {
    const ending: Ending = { isClosed: false, isHandedOver: false, onClosed: [], onAnswered: [] }
    request.ending = ending
    reply.raw.once('close', () => {
      if (ending.isHandedOver) return
      ending.isClosed = true
      // A stream of events ends only when its client disconnects.
      const isDropped = !reply.raw.writableFinished && !isEventStream(reply.raw)
      runOnClosed(ending)
      for (const run of listeners) run(request, reply, isDropped)
    })
    done()
  })

  app.addHook('onSend', (request, _reply, _payload, done) => {
    runOnAnswered(request.ending)
    done()
  })
}

function runOnClosed(ending: Ending): void {
  for (const run of ending.onClosed) run()
}

function runOnAnswered(ending: Ending): void {
  for (const run of ending.onAnswered.splice(0)) run()
}

export default fp(requestEnd, { name: 'request-end' })
