import { hasChanged, type JournalHead, readJournalHead } from '../../journal/journal-head.ts'
import { Memo } from '../../lib/memo.ts'
import type { Model } from '../../model/model.ts'
import { MAX_STATEMENT_KEY, statementKey } from '../../storage/statement-key.ts'
import type { Statement, Storage } from '../../storage/storage.ts'

const MAX_TOTALS = 200
/** After more changes of any records, to look through them is not worth the time of the serving thread. */
const MAX_CHANGES = 100
/** For changes at PostgreSQL's shell where triggers do not run, such as `TRUNCATE`: the journal does not have them. */
const KEEP_MS = 10_000

interface KnownTotal extends JournalHead {
  total: number
  /** as `performance.now()` */
  until: number
}

/**
 * Totals of searches, for those who go through the pages of one: to count often takes longer than to read a page. A
 * total holds as long as no record has changed that it depends on; the journal tells that, as it does for the ETag of a
 * find.
 */
export class KnownTotals {
  readonly #storage: Storage
  readonly #totals = new Memo<KnownTotal>(MAX_TOTALS, MAX_STATEMENT_KEY)

  constructor(storage: Storage) {
    this.#storage = storage
  }

  /** The known total of a statement that looks at these models; if there is none, counts and keeps it. */
  async total(statement: Statement, models: Model[], count: () => Promise<number>): Promise<number> {
    const canBeKept = statement.sql.length <= MAX_STATEMENT_KEY && models.every(({ history }) => history)
    // Read before counting: a change that is made during the count makes the kept total outdated.
    const head = canBeKept ? await readJournalHead(this.#storage) : undefined
    if (!head) return count()
    const key = statementKey(statement)
    const cached = this.#totals.get(key)
    if (cached && (await this.#holds(cached, models, head))) return cached.total
    const total = await count()
    this.#totals.keep(key, { ...head, total, until: performance.now() + KEEP_MS })
    return total
  }

  async #holds(known: KnownTotal, models: Model[], { newest, epoch }: JournalHead): Promise<boolean> {
    const isRecent = performance.now() < known.until && newest - known.newest <= MAX_CHANGES
    if (!isRecent || epoch !== known.epoch) return false
    const names = models.map(({ name }) => name)
    return !(await hasChanged(this.#storage, names, known.newest, newest))
  }
}
