import { createServer } from 'node:net'

/** The service cannot listen on its address. The message says what to do. */
export class AddressError extends Error {}

const REASONS: Record<string, (host: string, port: number) => string> = {
  EADDRINUSE: (host, port) =>
    `Port ${port} of ${host} is taken by another program. Stop that one, or set PORT to another number.`,
  EACCES: (_host, port) =>
    `Port ${port} is for privileged programs only. Set PORT to 1024 or more, and put a proxy before it.`,
  EADDRNOTAVAIL: (host) =>
    `This machine does not have the address ${host}. Set HOST to one that it has, such as 127.0.0.1, or 0.0.0.0 for all.`,
  ENOTFOUND: (host) => `There is no machine called "${host}". Set HOST to an address of this one, such as 127.0.0.1.`,
  EAI_AGAIN: (host) => `The name "${host}" cannot be looked up. Set HOST to an address of this machine.`,
}

/** Translates an error of `listen` into one that tells an operator what to do; returns any other error unchanged. */
export function explainListening(error: NodeJS.ErrnoException, host: string, port: number): Error {
  const reason = REASONS[String(error.code)]
  return reason ? new AddressError(reason(host, port)) : error
}

/**
 * Throws if another program listens on the port. A port that threads share could be shared with another program too,
 * even with a second Dossier on other data: each would get some of the connections.
 */
export async function requireFreePort(host: string, port: number): Promise<void> {
  const server = createServer()
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error) => reject(explainListening(error, host, port)))
    server.listen({ host, port }, () => server.close(() => resolve()))
  })
}
