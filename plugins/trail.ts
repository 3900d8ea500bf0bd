import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'

declare module 'fastify' {
  interface FastifyRequest {
    /** writes down who did what about logins and users, and from where */
    trail(event: string, details?: { subject?: string; roles?: string[] | undefined }): void
  }
}

/** Events that somebody should be able to see at a glance, even in a quiet log. */
const WARNINGS = ['login failed', 'login locked', 'cross-site request refused']

/** The trail of logins and of changes to people: log lines with `event`, `username` and `address`. */
async function trail(app: FastifyInstance) {
  app.decorateRequest('trail', function (event, details = {}) {
    // What is told once more has not happened once more.
    if (this.user?.idempotency?.stored) return
    // What is refused at the door has no user yet.
    const { username } = this.user ?? this.session?.user ?? {}
    const line = { reqId: this.id, event, username: username ?? details.subject, address: this.ip, ...details }
    if (WARNINGS.includes(event)) app.log.warn(line, event)
    else app.log.info(line, event)
  })
}

export default fp(trail, { name: 'trail', dependencies: ['session'] })
