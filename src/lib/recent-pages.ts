const KEPT_MS = 1000
const MAX_PAGES = 100
const MAX_LENGTH = 32_768

/** An answer with a page of records. */
export interface PageText {
  text: string
  /** the header `Link` */
  link: string | undefined
}

/**
 * The pages of the last second, by their ETag: what many people ask for at the same time is found and serialised once.
 * A page is kept when it is made for the second time, because most are never asked for again. Longer pages are not
 * kept.
 */
export class RecentPages {
  readonly #now: () => number
  /** undefined: the page was made once */
  readonly #pages = new Map<string, PageText | undefined>()
  #since = 0

  constructor(now: () => number = () => performance.now()) {
    this.#now = now
  }

  get(tag: string): PageText | undefined {
    const now = this.#now()
    if (now - this.#since >= KEPT_MS) {
      this.#pages.clear()
      this.#since = now
    }
    return this.#pages.get(tag)
  }

  keep(tag: string, page: PageText): void {
    if (page.text.length > MAX_LENGTH) return
    const isSecond = this.#pages.has(tag)
    if (!isSecond && this.#pages.size >= MAX_PAGES) this.#pages.clear()
    this.#pages.set(tag, isSecond ? page : undefined)
  }
}
