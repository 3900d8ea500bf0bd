import { DAY_MS, isoDay } from '../../lib/dates.ts'
import type { Field, Model } from './model.ts'
import { shownFields } from './model.ts'

/** Saved views, and the kinds of table that an address can ask for beside filters, order and columns. */

/** A view as the service keeps it. */
export interface SavedView {
  id: number
  version: number
  model: string
  name: string
  owner: string
  /** who sees it beside its owner: nobody if empty, a role, or `*` for all */
  role: string
  kind: ViewKind
  query: string
  /** whether the table is opened with it */
  first: boolean
}

export type ViewKind = 'table' | 'board' | 'calendar' | 'chart'

const VIEW = 'table.view'
const RECORD = 'table.record'
const BOARD = 'table.board'
const CALENDAR = 'table.calendar'
const MONTH = 'table.month'
/** Parameters that a view does not keep, because they belong to this moment. */
const MOMENTARY = [VIEW, RECORD, MONTH, 'table.open']
/** Stands for the table without a view: the first view is not opened instead. */
const ALL = 'all'

const changed = (query: URLSearchParams, name: string, value: string | undefined) => {
  const next = new URLSearchParams(query)
  if (value === undefined) next.delete(name)
  else next.set(name, value)
  return next
}

/** The parts of a table's address beside filters, order and columns. */
export const tableKind = (query: URLSearchParams) => ({
  board: query.get(BOARD) ?? undefined,
  calendar: query.get(CALENDAR) ?? undefined,
  month: query.get(MONTH) ?? undefined,
})

export const withBoard = (query: URLSearchParams, field: string | undefined) =>
  changed(changed(query, CALENDAR, undefined), BOARD, field)
export const withCalendar = (query: URLSearchParams, field: string | undefined) =>
  changed(changed(query, BOARD, undefined), CALENDAR, field)
export const withMonth = (query: URLSearchParams, month: string) => changed(query, MONTH, month)

/** The record that is shown beside the table. */
export function recordBeside(query: URLSearchParams): number | undefined {
  const text = query.get(RECORD)
  return text !== null && /^[1-9]\d{0,15}$/.test(text) ? Number(text) : undefined
}
export const withRecord = (query: URLSearchParams, id: number | undefined) =>
  changed(query, RECORD, id === undefined ? undefined : String(id))

/** The part of an address that a view keeps. */
export const viewQuery = (query: URLSearchParams) =>
  String(new URLSearchParams([...query].filter(([name]) => !MOMENTARY.includes(name))))

export const viewKind = (query: URLSearchParams): ViewKind =>
  query.has(BOARD) ? 'board' : query.has(CALENDAR) ? 'calendar' : 'table'

/** The address of a view, or of the table without one. */
export function viewAddress(view: SavedView | undefined): URLSearchParams {
  const query = new URLSearchParams(view?.query)
  query.set(VIEW, view ? String(view.id) : ALL)
  return query
}

/** The view that an address names; it may have been changed since. */
export const viewIn = (query: URLSearchParams, views: SavedView[]) =>
  views.find(({ id }) => String(id) === query.get(VIEW))

/** The view with which a table is opened: one's own goes before that of a role, and that before the one of all. */
export function firstView(query: URLSearchParams, views: SavedView[]): SavedView | undefined {
  if ([...query].length > 0) return undefined
  const firsts = views.filter(({ first }) => first)
  const rank = ({ role }: SavedView) => (role === '' ? 0 : role === '*' ? 2 : 1)
  return firsts.toSorted((one, other) => rank(one) - rank(other))[0]
}

/** Fields that a board can have columns of: a short list of values, or records that are referred to. */
export const boardFields = (model: Model): Field[] =>
  shownFields(model).filter(
    ({ enum: choices, type, reference }) => (choices && type === 'string') || reference !== undefined,
  )

/** Fields that a calendar can be made of. */
export const calendarFields = (model: Model): Field[] =>
  shownFields(model).filter(({ format }) => format === 'date' || format === 'date-time')

/** The weeks of a month, from Monday to Sunday, as days `YYYY-MM-DD`. */
export function monthWeeks(month: string): string[][] {
  const first = Date.parse(`${month}-01T00:00:00Z`)
  const monday = first - ((new Date(first).getUTCDay() + 6) % 7) * DAY_MS
  const weeks: string[][] = []
  for (let start = monday; start === monday || isoDay(start).startsWith(month); start += 7 * DAY_MS)
    weeks.push(Array.from({ length: 7 }, (_, at) => isoDay(start + at * DAY_MS)))
  return weeks
}

/** The month before or after another one. */
export function otherMonth(month: string, step: 1 | -1): string {
  const date = new Date(`${month}-15T00:00:00Z`)
  date.setUTCMonth(date.getUTCMonth() + step)
  return date.toISOString().slice(0, 7)
}

export const isMonth = (text: string | undefined): text is string => /^\d{4}-(?:0[1-9]|1[0-2])$/.test(text ?? '')
