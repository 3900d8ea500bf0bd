import { createHash } from 'node:crypto'
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import { readState } from '../src/journal/feed.ts'
import type { User } from '../src/model/access.ts'
import { fieldReference, type Model } from '../src/model/model.ts'

declare module 'fastify' {
  interface FastifyInstance {
    /**
     * The ETag of a find: it changes with every change in the journal, and with the tables, the users' rights and the
     * address. `users` are the one who asks, and the one whose rights apply.
     * Undefined if the journal cannot tell, because records that the answer may depend on have no history.
     */
    stateTag(model: Model, users: User[], url: string): Promise<string | undefined>
  }
}

/** ETags of finds, by one lookup in the journal. */
async function stateTag(app: FastifyInstance) {
  const { models, storage } = app
  const files = digest([...models.values()].map(({ hash }) => hash))

  /** Models that a find of one may follow references to. */
  function related(model: Model, known = new Set<string>()): Set<string> {
    known.add(model.name)
    const names = [
      ...model.fields.flatMap((field) => fieldReference(field)?.model ?? []),
      ...model.inverses.map((inverse) => inverse.model),
    ]
    for (const name of names) if (!known.has(name)) related(models.get(name) as Model, known)
    return known
  }
  const isTold = (model: Model) => [...related(model)].every((name) => models.get(name)?.history)
  const told = new Set([...models.values()].filter(isTold).map(({ name }) => name))

  app.decorate('stateTag', async ({ name }, users, url) => {
    const state = told.has(name) ? await readState(storage) : undefined
    if (state === undefined) return undefined
    // The rights as they are applied: they may have changed between the look at the user and that at the journal.
    const rights = users.map(({ username, roles, attributes, rightsSince }) => [
      username,
      roles,
      attributes,
      rightsSince,
    ])
    return digest([state, files, rights, url])
  })
}

const digest = (parts: unknown[]) => createHash('sha256').update(JSON.stringify(parts)).digest('base64url').slice(0, 22)

export default fp(stateTag, { name: 'state-tag' })
