import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

/** Stands between the nodes and the database, and can cut them off. */
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
  /** What is open stays open, and says nothing any more. */
  const hush = () => {
    for (const one of open) one.unpipe().pause()
  }
  /** All are cut off, and nobody is let in until it is back. */
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
