import { unavailableFailure } from '../errors.ts'
import { addressGroup } from '../lib/address-group.ts'
import { FairQueue } from '../lib/fair-queue.ts'

/** Origin of a login: its address, and whether the user's last login came from there. */
export interface LoginSource {
  address: string
  isKnown: boolean
}

/** Trusted origin: a user who is logged in, or the command line. */
export const TRUSTED_SOURCE: LoginSource = { address: '', isKnown: true }

/** Longest queues: of known origins, of unknown ones, and per address among the unknown. */
const MAX_WAITING_KNOWN = 200
const MAX_WAITING_UNKNOWN = 200
const MAX_PER_ADDRESS = 20
/** Known origins that are served in a row before an unknown one gets its turn. */
const KNOWN_IN_A_ROW = 4

/**
 * Hashes passwords one at a time, because more at once would take the CPU from requests that only read. A flood of
 * invented names must not keep users from logging in. So users at the address of their last login go first, the other
 * addresses take turns, and too many requests from one address are rejected at once.
 */
export class PasswordQueue {
  readonly #known = new FairQueue<() => void>()
  readonly #unknown = new FairQueue<() => void>()
  #isBusy = false
  #inARow = 0

  async run<Result>({ address, isKnown }: LoginSource, work: () => Promise<Result>): Promise<Result> {
    const holder = addressGroup(address)
    if (this.#isBusy) await this.#wait(holder, isKnown)
    this.#isBusy = true
    try {
      return await work()
    } finally {
      const next = this.#next()
      if (next) next()
      else this.#isBusy = false
    }
  }

  #wait(holder: string, isKnown: boolean): Promise<void> {
    const queue = isKnown ? this.#known : this.#unknown
    const isFull = queue.size >= (isKnown ? MAX_WAITING_KNOWN : MAX_WAITING_UNKNOWN)
    if (isFull || (!isKnown && queue.queueLength(holder) >= MAX_PER_ADDRESS))
      throw unavailableFailure('Too many people are logging in right now. Try again in a few seconds.', 5)
    return new Promise((resolve) => queue.add(holder, resolve))
  }

  /** The next work to run: the one that has finished passes its slot on. */
  #next(): (() => void) | undefined {
    const isTheirTurn = this.#inARow < KNOWN_IN_A_ROW || this.#unknown.size === 0
    const known = isTheirTurn ? this.#known.next(() => true) : undefined
    this.#inARow = known ? this.#inARow + 1 : 0
    return known ?? this.#unknown.next(() => true)
  }
}
