import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

/** Stands between the nodes and the database, and can cut them off. */
export async function openProxy(socket: string) {
  const open = new Set<Socket>()
  const server = createServer((one) => {
    const other = connect(socket)
    const join = (from: Socket, to: Socket) => {
      open.add(from)
      from.pipe(to)
      from.on('error', () => to.destroy())
      from.on('close', () => {
        open.delete(from)
        to.destroy()
      })
    }
    join(one, other)
    join(other, one)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const cut = () => {
    for (const one of open) one.destroy()
  }
  /** What is open stays open, and says nothing any more. */
  const hush = () => {
    for (const one of open) one.unpipe().pause()
  }
  const close = () => {
    server.close()
    cut()
  }
  return { port: (server.address() as AddressInfo).port, cut, hush, close }
}
