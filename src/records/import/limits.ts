import { unavailableFailure } from '../../errors.ts'
import { Limiter } from '../../lib/limiter.ts'

/** Imports that run at the same time; further ones wait in line. Each has a thread. */
const MAX_IMPORTS = 4

/** All uploads on disk together may have this many times `IMPORT_LIMIT_BYTES`. */
const MAX_UPLOADS = 4

/** Limits of the imports of one process. */
export class ImportLimits {
  /** users with an import in progress, from its first byte: each may have one */
  readonly #users = new Set<string>()
  readonly #running = new Limiter(MAX_IMPORTS)
  /** bytes of all uploads on disk */
  #bytes = 0

  /** Claims the one import that a user may have, since each takes room on the disk. Returns the release function. */
  claim(username: string): () => void {
    if (this.#users.has(username))
      throw unavailableFailure('You have an import under way already. Try again when it is done.', 10)
    this.#users.add(username)
    return () => this.#users.delete(username)
  }

  /** Runs an import when one of `MAX_IMPORTS` places is free. An upload needs none, so a slow client blocks nobody. */
  run<Result>(work: () => Promise<Result>): Promise<Result> {
    return this.#running.run(work)
  }

  /** Counts the bytes that one upload writes to disk; refuses when all uploads together have too many. */
  countUpload(limit: number): { add(bytes: number): void; clear(): void } {
    let own = 0
    return {
      add: (bytes) => {
        if (this.#bytes + bytes > MAX_UPLOADS * limit)
          throw unavailableFailure('Too much is being imported right now. Try again when some of it is done.', 30)
        this.#bytes += bytes
        own += bytes
      },
      clear: () => {
        this.#bytes -= own
        own = 0
      },
    }
  }
}
