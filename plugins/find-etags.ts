import { hash } from 'node:crypto'
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import { hasChanged, readJournalHead } from '../src/journal/journal-head.ts'
import { Memo } from '../src/lib/memo.ts'
import { type PageText, RecentPages } from '../src/lib/recent-pages.ts'
import { scopeFor, type User } from '../src/model/access.ts'
import { fieldReference, type Model } from '../src/model/model.ts'
import type { Page } from '../src/records/find/find.ts'
import { toETag } from '../src/requests/preconditions.ts'

declare module 'fastify' {
  interface FastifyInstance {
    /**
     * The ETag of a find, and whether the client has that state already. `users` are the one who asks, and the one
     * whose rights apply. Undefined if the journal cannot tell, because records that the answer may depend on have no
     * history.
     */
    findEtag(model: Model, users: User[], url: string, ifNoneMatch: string | undefined): Promise<FindEtag | undefined>
  }
  interface FastifyReply {
    /** Sends the page that an ETag stands for: a recent one, or the one that `find` returns. */
    recentPage(etag: string, find: () => Promise<Page>): Promise<FastifyReply>
  }
}

interface FindEtag {
  tag: string
  isKnown: boolean
}

/** The number of a change, and a digest of all else that the answer depends on. */
const TAG = /"(\d{1,16})-([\w-]{22})"/g

/** Models and sets of roles of which it is known whether the roles alone tell what is found. */
const MAX_CACHED_DECISIONS = 1000

/** ETags of finds: they hold as long as no record changes that the answer may depend on. */
async function findEtags(app: FastifyInstance) {
  const { models, storage } = app
  const files = digest([...models.values()].map(({ hash }) => hash))

  /** Models that a find of one may follow references to. */
  function relatedModels(model: Model, known = new Set<string>()): Set<string> {
    known.add(model.name)
    const names = [
      ...model.fields.flatMap((field) => fieldReference(field)?.model ?? []),
      ...model.inverses.map((inverse) => inverse.model),
    ]
    for (const name of names) if (!known.has(name)) relatedModels(models.get(name) as Model, known)
    return known
  }
  const dependencies = new Map([...models.values()].map((model) => [model.name, [...relatedModels(model)]]))
  const hasHistory = (name: string) =>
    (dependencies.get(name) as string[]).every((one) => (models.get(one) as Model).history)
  const withHistory = new Set([...models.keys()].filter(hasHistory))

  const pages = new RecentPages()
  app.decorateReply('recentPage', async function (etag, find) {
    const send = ({ text, link }: PageText) => {
      if (link !== undefined) this.header('link', link)
      return this.type('application/json; charset=utf-8').send(text)
    }
    const recent = pages.get(etag)
    if (recent) return send(recent)
    const text = this.serialize(this.answerPage(await find())) as string
    const page = { text, link: this.getHeader('link') as string | undefined }
    pages.keep(etag, page)
    return send(page)
  })

  const decidedByRoles = new Memo<boolean>(MAX_CACHED_DECISIONS)
  /** The rights on which a user's finds depend: often only the roles, so that many users get the same answer. */
  function rightsOf(name: string, user: User): unknown {
    const roles = app.rolesKey(user)
    const scope = (one: string) => scopeFor(models.get(one) as Model, 'read', user)
    const isByRole = decidedByRoles.getOrCompute(`${name} ${roles}`, () =>
      (dependencies.get(name) as string[]).every((one) => /^(?:all|none)$/.test(scope(one))),
    )
    return isByRole ? roles : [user.username, user.roles, user.attributes, user.rightsSince]
  }

  app.decorate('findEtag', async ({ name }, users, url, ifNoneMatch) => {
    const head = withHistory.has(name) ? await readJournalHead(storage) : undefined
    if (head === undefined) return undefined
    const { newest, epoch } = head
    // The rights as they are applied: they may have changed between the look at the user and that at the journal.
    const rights = [...new Set(users)].map((user) => rightsOf(name, user))
    const content = digest([epoch, files, rights, url])
    const [, since] = [...(ifNoneMatch ?? '').matchAll(TAG)].find(([, , known]) => known === content) ?? []
    if (since === undefined) return { tag: toETag(`${newest}-${content}`), isKnown: false }
    const isOld = await hasChanged(storage, dependencies.get(name) as string[], Number(since), newest)
    return { tag: toETag(`${isOld ? newest : since}-${content}`), isKnown: !isOld }
  })
}

const digest = (parts: unknown[]) => hash('sha256', JSON.stringify(parts), 'base64url').slice(0, 22)

export default fp(findEtags, { name: 'find-etags', dependencies: ['openapi', 'answer-headers'] })
