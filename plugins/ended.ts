import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'

declare module 'fastify' {
  interface FastifyInstance {
    /** Calls back at the end of every request, also of one whose client has left before it was answered. */
    onEnded(run: OnEnded): void
  }
  interface FastifyRequest {
    ending: Ending
    /** Calls back when the response is closed: the answer has been sent, or the client has left. */
    whenClosed(run: () => void): void
    /** Calls back when the answer is made, also if nobody is there to read it. To be called before there is one. */
    whenAnswered(run: () => void): void
  }
}

type OnEnded = (request: FastifyRequest, reply: FastifyReply, isDropped: boolean) => void

interface Ending {
  isClosed: boolean
  onClosed: (() => void)[]
  onAnswered: (() => void)[]
}

/** When a client has left, its request is over after this time, whether it was answered or not. */
const UNANSWERED_MS = 60_000

/**
 * The one place where what a request holds is released. Fastify's own `onResponse` does not run when the client has left, so
 * it hangs on the response's `close`, which always comes.
 */
async function ended(app: FastifyInstance) {
  const listeners: OnEnded[] = []
  app.decorate('onEnded', (run) => void listeners.push(run))
  app.decorateRequest('ending', undefined as unknown as Ending)

  app.decorateRequest('whenClosed', function (run) {
    if (this.ending.isClosed) run()
    else this.ending.onClosed.push(run)
  })

  app.decorateRequest('whenAnswered', function (run) {
    this.ending.onAnswered.push(run)
  })

  app.addHook('onRequest', (request, reply, done) => {
    const ending: Ending = { isClosed: false, onClosed: [], onAnswered: [] }
    request.ending = ending
    reply.raw.once('close', () => {
      ending.isClosed = true
      const isDropped = !reply.raw.writableFinished && !isLasting(reply)
      for (const run of ending.onClosed) run()
      // Nothing may be held for ever, whatever has become of the handler.
      if (ending.onAnswered.length > 0) setTimeout(answered, UNANSWERED_MS, ending).unref()
      for (const run of listeners) run(request, reply, isDropped)
    })
    done()
  })

  app.addHook('onSend', (request, _reply, _payload, done) => {
    answered(request.ending)
    done()
  })
}

function answered(ending: Ending): void {
  for (const run of ending.onAnswered.splice(0)) run()
}

/** A stream of events goes on until its client leaves. */
const isLasting = ({ raw }: FastifyReply) => raw.getHeader('content-type') === 'text/event-stream'

export default fp(ended, { name: 'ended' })
