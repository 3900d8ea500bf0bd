import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import { collect } from '../src/lib/collect.ts'
import { Memo } from '../src/lib/memo.ts'
import { mayUse, type User } from '../src/model/access.ts'
import type { Models } from '../src/model/model.ts'
import { modelTypes } from '../src/openapi/typescript.ts'
import { withoutTypes } from '../src/site/without-types.ts'

declare module 'fastify' {
  interface FastifyInstance {
    /** The source of a client for these models: TypeScript, or JavaScript. */
    clientSource(models: Models, language: ClientLanguage): Promise<string>
  }
}

export type ClientLanguage = 'ts' | 'js'

/** The files of the client, in the order in which they follow each other in one. */
const FOLDER = join(import.meta.dirname, '../src/client')
const FILES = ['types', 'errors', 'connection', 'live', 'collection', 'batch', 'dossier']
/** Within one file, its parts need no imports. */
const IMPORTS = /^import [^']*from '\.[^']*'\n/gm
const joinSources = (texts: string[]) => texts.map((text) => text.replace(IMPORTS, '').trim()).join('\n\n')
const TYPES = { ts: 'text/plain; charset=utf-8', js: 'text/javascript; charset=utf-8' }
const HEAD = `/*
 * A client for this service, made from its models. Get it again when they change. It has no imports, and uses only what
 * browsers, Node, Deno and Bun have.
 */

`
/** Making a client blocks the thread for at most about this long at a time. */
const PORTION_MS = 5
/** Clients that are kept. */
const MAX_SOURCES = 20
/** JavaScript has no types, so it is the same for all models. */
const CONNECT = '\nexport const connect = (url, options) => new Dossier(url, options)\n'

/** Gives out a client: one file without dependencies, with the types of the models that the user may use. */
async function client(app: FastifyInstance) {
  const paths = FILES.map((name) => join(FOLDER, `${name}.ts`))
  let stripped: Promise<string[]> | undefined

  app.decorate('clientSource', async (models, language) => {
    if (language === 'ts') {
      const runtime = joinSources(paths.map((path) => readFileSync(path, 'utf8')))
      return [HEAD, runtime, '\n\n', ...(await collect(modelTypes(models), PORTION_MS))].join('')
    }
    stripped ??= withoutTypes(paths)
    return `${HEAD}${joinSources(await stripped)}\n${CONNECT}`
  })

  const usedBy = (user: User): Models =>
    new Map([...app.visibleModelsFor(user)].filter(([, model]) => mayUse(model, user)))

  // With many models it has megabytes, so it is made once for users with the same rights.
  const sources = new Memo<Promise<string>>(MAX_SOURCES)
  const clientFor = (user: User, language: ClientLanguage) =>
    sources.getOrCompute(`${language} ${app.rolesKey(user)}`, () => app.clientSource(usedBy(user), language))

  for (const language of ['ts', 'js'] as const)
    app.route({
      method: 'GET',
      url: `/client.${language}`,
      config: {
        docs: {
          answer: { description: 'The file.', content: { [TYPES[language]]: { schema: { type: 'string' } } } },
        },
      },
      schema: {
        tags: ['meta'],
        operationId: `client${language === 'ts' ? 'TypeScript' : 'JavaScript'}`,
        summary: `A client in ${language === 'ts' ? 'TypeScript' : 'JavaScript'}`,
        description: 'Returns one file without dependencies, for browsers, Node, Deno and Bun.',
      },
      handler: async ({ user }, reply) => reply.type(TYPES[language]).send(await clientFor(user, language)),
    })
}

export default fp(client, { name: 'client', dependencies: ['collections', 'openapi', 'access'] })
