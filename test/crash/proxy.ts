import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

/** Opens a proxy between nodes and the database, which can cut the connections. */
export async function openProxy(socket: string) {
  const open = new Set<Socket>()
  let isAway = false
  const server = createServer((one) => {
    if (isAway) return void one.destroy()
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
  /** Open connections stay open, but transfer no more data. */
  const hush = () => {
    for (const one of open) one.unpipe().pause()
  }
  /** Cuts all connections, and refuses new ones until `comeBack`. */
  const leave = () => {
    isAway = true
    cut()
  }
  const comeBack = () => {
    isAway = false
  }
  const close = () => {
    server.close()
    cut()
  }
  return { port: (server.address() as AddressInfo).port, cut, hush, leave, comeBack, close }
}
