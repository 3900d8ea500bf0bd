import { type PendingUnit, PendingUnits } from '../pending-units.ts'
import { type Row, type StorageEvents, StorageFault, type Unit } from '../storage.ts'
import { canShareTransaction, type UnitOutcome, WriteConnection } from './write-connection.ts'

/** Maximum number of units that share a transaction. */
const MAX_GROUP_UNITS = 64
const CONNECTIONS = 2
/** When a unit whose table is being changed is tried again. */
const LOCKED_AGAIN_MS = 50
/** Characters per group, about. */
const MAX_GROUP_CHARACTERS = 1_000_000

type OnGroup = NonNullable<StorageEvents['onGroup']>

/** Plain units share commits; any other unit has a transaction of its own. */
type Kind = 'plain' | 'alone'

/** Writes units. They gather while all connections are busy, so groups grow as the database gets slower. */
export class WriteQueue {
  readonly #pending: PendingUnits
  #turn: Kind = 'alone'
  readonly #idle: WriteConnection[]
  readonly #connections: WriteConnection[]
  readonly #onGroup: OnGroup
  /** units that are tried again in a moment */
  #deferred = 0
  #onIdle: (() => void) | undefined

  constructor(url: string, onGroup: OnGroup, waitTimeoutMs?: number) {
    this.#pending = new PendingUnits(() => this.#serve(), { unitKind, waitTimeoutMs })
    this.#connections = Array.from({ length: CONNECTIONS }, () => new WriteConnection(url))
    this.#idle = [...this.#connections]
    this.#onGroup = onGroup
  }

  write(unit: Unit): Promise<Row[][]> {
    return this.#pending.add(unit)
  }

  get retries(): number {
    return this.#connections.reduce((sum, connection) => sum + connection.retries, 0)
  }

  /** Writes all waiting units, then closes the connections. */
  async close(): Promise<void> {
    if (!this.#isIdle)
      await new Promise<void>((resolve) => {
        this.#onIdle = resolve
      })
    this.#pending.close(new StorageFault('busy', 'The database is closed.'))
    await Promise.all(this.#connections.map((connection) => connection.close()))
  }

  get #isIdle(): boolean {
    return this.#pending.size === 0 && this.#deferred === 0 && this.#idle.length === CONNECTIONS
  }

  #serve() {
    while (this.#idle.length > 0) {
      const group = this.#nextGroup()
      if (group.length === 0) break
      void this.#run(this.#idle.pop() as WriteConnection, group)
    }
    if (this.#isIdle) this.#onIdle?.()
  }

  async #run(connection: WriteConnection, group: PendingUnit[]) {
    const start = performance.now()
    try {
      const outcomes = await connection.writeGroup(group.map(({ unit }) => unit))
      this.#onGroup(group.length, performance.now() - start)
      for (const [index, one] of group.entries()) {
        const outcome = outcomes[index] as UnitOutcome
        if ('rows' in outcome) one.resolve(outcome.rows)
        else if (outcome.isLocked) this.#tryLater(one)
        else one.reject(outcome.error)
      }
    } catch (error) {
      // Whatever went wrong, every unit gets an answer.
      for (const { reject } of group) reject(error)
    }
    this.#idle.push(connection)
    this.#serve()
  }

  /** Meanwhile the units of other tables are written. */
  #tryLater(one: PendingUnit) {
    this.#deferred++
    setTimeout(() => {
      this.#deferred--
      this.#pending.addAgain(one)
      this.#serve()
    }, LOCKED_AGAIN_MS)
  }

  /** The next units to write; the kinds take turns. */
  #nextGroup(): PendingUnit[] {
    if (this.#pending.countOfKind(other(this.#turn)) > 0) this.#turn = other(this.#turn)
    const maxUnits = this.#turn === 'alone' ? 1 : MAX_GROUP_UNITS
    const group: PendingUnit[] = []
    let characters = 0
    while (group.length < maxUnits && characters < MAX_GROUP_CHARACTERS) {
      const one = this.#pending.next(this.#turn)
      if (!one) break
      characters += one.size
      group.push(one)
    }
    return group
  }
}

const other = (kind: Kind): Kind => (kind === 'alone' ? 'plain' : 'alone')
const unitKind = (unit: Unit): Kind => (canShareTransaction(unit) ? 'plain' : 'alone')
