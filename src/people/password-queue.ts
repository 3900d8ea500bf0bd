import { unavailable } from '../errors.ts'
import { addressGroup } from '../lib/address-group.ts'
import { FairQueue } from '../lib/fair-queue.ts'

/** From where a password is shown, and whether this user has logged in from there before. */
export interface LoginSource {
  address: string
  isKnown: boolean
}

/** Somebody who needs not be guarded against. */
export const KNOWN: LoginSource = { address: '', isKnown: true }

/** How many may wait: of users at an address where they have logged in before, of all others, and of one address of these. */
const MAX_KNOWN = 200
const MAX_UNKNOWN = 200
const MAX_PER_ADDRESS = 20
/** So many of the known ones go first, before one of the others has its turn. */
const KNOWN_IN_A_ROW = 4

/**
 * Passwords that wait to be hashed, one at a time: more at once would take the processor from the requests that only read.
 * A flood of made-up names must not keep people from logging in. So users at an address where they have logged in before go
 * first, and among the others the addresses take turns; what is too much from one address is refused at once.
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
    const isFull = queue.size >= (isKnown ? MAX_KNOWN : MAX_UNKNOWN)
    if (isFull || (!isKnown && queue.lengthOf(holder) >= MAX_PER_ADDRESS))
      throw unavailable('Too many people are logging in right now. Try again in a few seconds.', 5)
    return new Promise((resolve) => queue.add(holder, resolve))
  }

  /** Whoever has been served hands the place on. */
  #next(): (() => void) | undefined {
    const isTheirTurn = this.#inARow < KNOWN_IN_A_ROW || this.#unknown.size === 0
    const known = isTheirTurn ? this.#known.next(() => true) : undefined
    this.#inARow = known ? this.#inARow + 1 : 0
    return known ?? this.#unknown.next(() => true)
  }
}
