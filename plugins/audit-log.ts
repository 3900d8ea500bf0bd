import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'

declare module 'fastify' {
  interface FastifyRequest {
    /** Writes an event to the audit log. */
    audit(event: string, details?: { subject?: string; roles?: string[] | undefined }): void
  }
}

/** Events with the level warn, so that a log without info lines has them too. */
const WARNINGS = ['login failed', 'login locked', 'cross-site request refused']

/**
 * The audit log of logins, and of what changes users, tokens, models, backups and histories: log lines with `event`,
 * `username` and `address`.
 */
async function auditLog(app: FastifyInstance) {
  app.decorateRequest('audit', function (event, details = {}) {
    // A replayed answer (`Idempotency-Key`) is no new event.
    if (this.user?.idempotency?.stored) return
    // A request that is refused before `auth` runs has no `user` yet.
    const { username } = this.user ?? this.restoredSession?.user ?? {}
    const line = { reqId: this.id, event, username: username ?? details.subject, address: this.ip, ...details }
    if (WARNINGS.includes(event)) app.log.warn(line, event)
    else app.log.info(line, event)
  })
}

export default fp(auditLog, { name: 'audit-log', dependencies: ['session'] })
