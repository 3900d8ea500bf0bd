import { type MessagePort, receiveMessageOnPort } from 'node:worker_threads'

/** Lets a serving thread swap its models no later than the main thread, as far as any client can see. */
export class SwapFollower {
  /** number of the main thread's app that this thread's app corresponds to */
  swapCount: number
  readonly #port: MessagePort
  /** number of the app that the main thread serves, in shared memory */
  readonly #swapCounter: Int32Array
  readonly #onMessage: (message: string) => void

  constructor(port: MessagePort, swapCounter: Int32Array, swapCount: number, onMessage: (message: string) => void) {
    this.#port = port
    this.#swapCounter = swapCounter
    this.swapCount = swapCount
    this.#onMessage = onMessage
  }

  /**
   * If the main thread serves other models by now, its order to swap has arrived too: it is carried out before anything
   * else. A client that has seen the new models never sees the old ones again, on whichever connection.
   */
  readonly follow = (): void => {
    if (Atomics.load(this.#swapCounter, 0) === this.swapCount) return
    for (let got = receiveMessageOnPort(this.#port); got; got = receiveMessageOnPort(this.#port))
      this.#onMessage(got.message)
  }
}
