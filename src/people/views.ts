import { Failure } from '../errors.ts'
import { toIso } from '../lib/dates.ts'
import { ADMIN, EVERYBODY, type User } from '../model/access.ts'
import type { Database, Row, Step, WriteStorage } from '../storage/storage.ts'
import { writeOrExplain } from '../storage/write-or-explain.ts'
import { throwIfInvalid } from './throw-if-invalid.ts'

const VIEWS = 'dossier_views'
const MAX_NAME = 80
const MAX_QUERY = 8000
/** Nobody needs more, and each takes disk space. */
const MAX_VIEWS = 200
/** Views of one model that a list has at most. */
const MAX_LISTED = 500
const COLUMNS = 'id, version, model, name, owner, role, kind, query, "isFirst", "createdOn", "updatedOn"'

export const VIEW_KINDS = ['table', 'board', 'calendar', 'chart'] as const

/** The settings of a view that a user chooses. */
export interface ViewSettings {
  name: string
  /** who sees it beside its owner: nobody if empty, a role, or `*` for all */
  role: string
  kind: (typeof VIEW_KINDS)[number]
  /** filters, order, columns and whatever else the address of the table has */
  query: string
  /** whether the page opens the table with it */
  first: boolean
}

/** A view of a table that somebody has saved. */
export interface SavedView extends ViewSettings {
  id: number
  version: number
  model: string
  owner: string
  createdOn: string
  updatedOn: string
}

/** The views of a model that a user sees: own ones, and those for one of the user's roles or for all. */
export async function listViews(db: Database, model: string, user: User): Promise<SavedView[]> {
  const rows = await db
    .selectFrom(VIEWS)
    .selectAll()
    .where('model', '=', model)
    .where(({ or, eb }) =>
      or([
        eb('owner', '=', user.username),
        user.roles.includes(ADMIN) ? eb('role', '<>', '') : eb('role', 'in', [EVERYBODY, ...user.roles]),
      ]),
    )
    .orderBy('id')
    .limit(MAX_LISTED)
    .execute()
  return rows.map(toView)
}

export async function createView(
  storage: WriteStorage,
  model: string,
  settings: ViewSettings,
  user: User,
): Promise<SavedView> {
  validateView(settings, user)
  const { name, role, kind, query, first } = settings
  const now = Date.now()
  const insert: Step = {
    sql: `INSERT INTO ${VIEWS} (version, model, name, owner, role, kind, query, "isFirst", "createdOn", "updatedOn")
      SELECT 0, ?, ?, username, ?, ?, ?, ?, ?, ? FROM dossier_users
      WHERE username = ? AND (SELECT count(*) FROM ${VIEWS} WHERE owner = dossier_users.username) < ?
      RETURNING ${COLUMNS}`,
    parameters: [model, name, role, kind, query, first ? 1 : 0, now, now, user.username, MAX_VIEWS],
    mustReturnRow: true,
  }
  const rows = await writeOrExplain(
    () => storage.write({ steps: [...(first ? [clearFirstView(model, role, user.username)] : []), insert] }),
    () => tooManyViewsFailure(),
  )
  return toView(rows.at(-1)?.[0] as Row)
}

const tooManyViewsFailure = () =>
  new Failure('VALIDATION_FAILED', `There are ${MAX_VIEWS} views of yours already: remove some of them.`, {
    errors: { name: `is one too many: there are ${MAX_VIEWS} already` },
  })

/** Changes a view in the version that the user has read. */
export async function updateView(
  storage: WriteStorage,
  id: number,
  version: number,
  settings: ViewSettings,
  user: User,
  mayUse: MayUse,
): Promise<SavedView> {
  validateView(settings, user)
  const { model } = await requireOwn(storage.db, id, user, mayUse)
  const { name, role, kind, query, first } = settings
  const update: Step = {
    sql: `UPDATE ${VIEWS} SET name = ?, role = ?, kind = ?, query = ?, "isFirst" = ?, "updatedOn" = ?,
      version = version + 1 WHERE id = ? AND version = ? RETURNING ${COLUMNS}`,
    parameters: [name, role, kind, query, first ? 1 : 0, Date.now(), id, version],
    mustReturnRow: true,
  }
  const rows = await writeOrExplain(
    () => storage.write({ steps: [...(first ? [clearFirstView(model, role, user.username)] : []), update] }),
    () => changedMeanwhileFailure(storage.db, id, version, user, mayUse),
  )
  return toView(rows.at(-1)?.[0] as Row)
}

export async function deleteView(
  storage: WriteStorage,
  id: number,
  version: number,
  user: User,
  mayUse: MayUse,
): Promise<number> {
  await requireOwn(storage.db, id, user, mayUse)
  const remove = {
    sql: `DELETE FROM ${VIEWS} WHERE id = ? AND version = ? RETURNING id`,
    parameters: [id, version],
    mustReturnRow: true,
  }
  await writeOrExplain(
    () => storage.write({ steps: [remove] }),
    () => changedMeanwhileFailure(storage.db, id, version, user, mayUse),
  )
  return id
}

/** Deletes the views that only their owner sees; those of others stay. */
export const deleteOwnViews = (username: string): Step => ({
  sql: `DELETE FROM ${VIEWS} WHERE owner = ? AND role = ''`,
  parameters: [username],
})

/** Makes another view no longer the first one: of the views that the same users see, at most one is. */
const clearFirstView = (model: string, role: string, owner: string): Step => ({
  sql: `UPDATE ${VIEWS} SET "isFirst" = 0 WHERE model = ? AND role = ? AND (role <> '' OR owner = ?)`,
  parameters: [model, role, owner],
})

async function findView(db: Database, id: number): Promise<SavedView | undefined> {
  const row = await db.selectFrom(VIEWS).selectAll().where('id', '=', id).executeTakeFirst()
  return row && toView(row)
}

/** Whether the user may use a model that is served. */
type MayUse = (model: string) => boolean

/** Views are changed by their owners and by admins. What a user may not see does not exist. */
async function requireOwn(db: Database, id: number, user: User, mayUse: MayUse): Promise<SavedView> {
  const known = await findView(db, id)
  const view = known && mayUse(known.model) ? known : undefined
  const isAdmin = user.roles.includes(ADMIN)
  const isSeen = view && (isAdmin || view.role === EVERYBODY || user.roles.includes(view.role))
  if (view?.owner.toLowerCase() === user.username.toLowerCase() || (isAdmin && view && view.role !== '')) return view
  if (isSeen && view.role !== '')
    throw new Failure('FORBIDDEN', `The view "${view.name}" is ${view.owner}'s: save it as one of your own.`)
  throw noSuchViewFailure()
}

const noSuchViewFailure = () => new Failure('RECORD_NOT_FOUND', 'There is no such view.')

async function changedMeanwhileFailure(
  db: Database,
  id: number,
  version: number,
  user: User,
  mayUse: MayUse,
): Promise<Failure> {
  const view = await requireOwn(db, id, user, mayUse)
  return new Failure(
    'VERSION_CONFLICT',
    `Version ${version} of the view "${view.name}" is not the current one, which is ${view.version}.`,
    { data: [view] },
  )
}

function validateView({ name, role, query, first }: ViewSettings, user: User): void {
  const errors: Record<string, string> = {}
  if (name.trim() === '' || name.length > MAX_NAME) errors.name = `must have 1 to ${MAX_NAME} characters`
  if (query.length > MAX_QUERY) errors.query = `must have at most ${MAX_QUERY} characters`
  for (const [field, text] of Object.entries({ name, query, role }))
    if (text.includes('\0') || !text.isWellFormed()) errors[field] = 'must be well-formed text without NUL characters'
  const mayShare = ['', EVERYBODY, ...user.roles].includes(role) || user.roles.includes(ADMIN)
  if (!mayShare) errors.role = 'must be one of your own roles, * for all, or empty'
  if (first && role !== '' && !user.roles.includes(ADMIN)) errors.first = 'is for admins, if others see the view'
  throwIfInvalid(errors)
}

function toView(row: Row): SavedView {
  const { id, version, model, name, owner, role, kind, query, isFirst, createdOn, updatedOn } = row
  return {
    ...({ id, version, model, name, owner, role, kind, query } as SavedView),
    first: isFirst === 1,
    createdOn: toIso(createdOn as number),
    updatedOn: toIso(updatedOn as number),
  }
}
