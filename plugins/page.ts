import { hash } from 'node:crypto'
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import { Failure } from '../src/errors.ts'
import { acceptsGzip } from '../src/requests/accept-encoding.ts'
import { getSite } from '../src/site/site.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** whether the route belongs to the web page, and so not to the API */
    page?: boolean
  }
}

/** The URL contains the hash of the files, so its content never changes. */
const FOR_EVER = 'public, max-age=31536000, immutable'

/** The web page: one document, and the files that it loads. */
async function page(app: FastifyInstance) {
  if (!app.config.PAGE) return
  const config = { public: true, page: true }

  app.get('/', { config }, async (request, reply) => {
    const { document, policy } = await getSite()
    const { user } = request
    const text = document(user && { username: user.username, roles: user.roles })
    const tag = `"${hash('sha256', text)}"`
    reply.headers({ 'content-security-policy': policy, 'cache-control': 'private, no-cache', etag: tag })
    if (request.headers['if-none-match'] === tag) return reply.code(304).send()
    return reply.type('text/html; charset=utf-8').send(text)
  })

  app.get<{ Params: { hash: string; '*': string } }>('/page/:hash/*', { config }, async (request, reply) => {
    const { files, hash: current } = await getSite()
    const file = request.params.hash === current ? files.get(request.params['*']) : undefined
    if (!file) throw new Failure('ROUTE_NOT_FOUND', 'There is nothing at this address.')
    reply.headers({ 'cache-control': FOR_EVER, vary: 'accept-encoding' }).type(file.type)
    return acceptsGzip(request.headers['accept-encoding'])
      ? reply.header('content-encoding', 'gzip').send(file.zipped)
      : reply.send(file.bytes)
  })
}

export default fp(page, { name: 'page', dependencies: ['routes', 'auth', 'security'] })
