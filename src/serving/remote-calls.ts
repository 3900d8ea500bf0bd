import { deserializeError } from '../storage/thread-errors.ts'
import type { CallResult } from './messages.ts'

interface Call {
  resolve(result: unknown): void
  reject(error: Error): void
}

/** Calls to another thread that are not answered yet, by id. */
export class RemoteCalls<Request extends object> {
  readonly #send: (message: { id: number } & Request) => void
  readonly #open = new Map<number, Call>()
  #last = 0
  /** why the other thread is gone */
  #failure: Error | undefined

  constructor(send: (message: { id: number } & Request) => void) {
    this.#send = send
  }

  /** Sends a request. `onSent` gets its id. */
  call<Result>(request: Request, onSent?: (id: number) => void): Promise<Result> {
    return new Promise((resolve, reject) => {
      if (this.#failure) return reject(this.#failure)
      const id = ++this.#last
      this.#open.set(id, { resolve: resolve as Call['resolve'], reject })
      this.#send({ id, ...request })
      onSent?.(id)
    })
  }

  resolveCall(answer: CallResult): void {
    const call = this.#open.get(answer.id)
    this.#open.delete(answer.id)
    if ('failed' in answer) call?.reject(deserializeError(answer.failed))
    else call?.resolve(answer.done)
  }

  /** Rejects all calls, also later ones: the other thread is gone. */
  fail(error: Error): void {
    this.#failure = error
    for (const { reject } of this.#open.values()) reject(error)
    this.#open.clear()
  }
}
