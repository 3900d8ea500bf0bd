import Fastify from 'fastify'

/** A Fastify server that does nothing: what memory and start are compared with. */
const app = Fastify()
app.get('/health', async () => ({ status: 0, data: [] }))
await app.listen({ host: '127.0.0.1', port: Number(process.env.PORT) })
process.on('SIGTERM', () => process.exit())
