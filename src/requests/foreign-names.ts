/** Names that other products use, and what they are called here. */

const PAGES = '"limit" and "offset", or "after" with "next" of the page before'
const ARCHIVED = 'nothing is archived here; deleted records are at …/deleted'
const FILTERS = 'parameters of their own, such as age[gte]=18; or POST …/search for nested criteria'

const PARAMETERS: Record<string, string> = {
  page: PAGES,
  pageNumber: PAGES,
  per_page: '"limit"',
  perPage: '"limit"',
  pageSize: '"limit"',
  page_size: '"limit"',
  size: '"limit"',
  take: '"limit"',
  top: '"limit"',
  $top: '"limit"',
  first: '"limit"',
  skip: '"offset"',
  $skip: '"offset"',
  start: '"offset"',
  cursor: '"after"',
  order: '"sort"',
  orderBy: '"sort"',
  order_by: '"sort"',
  sortBy: '"sort"',
  sort_by: '"sort"',
  $orderby: '"sort"',
  filter: FILTERS,
  $filter: FILTERS,
  where: FILTERS,
  _domain: FILTERS,
  select: '"fields"',
  $select: '"fields"',
  include: '"expand"',
  populate: '"expand"',
  $expand: '"expand"',
  search: '"q"',
  query: '"q"',
}

/** The name here of a query parameter of another product; undefined if it is none. */
export function explainForeignParameter(name: string): string | undefined {
  const firstWord = /^[$\w]+/.exec(name)?.[0] ?? ''
  const called = Object.hasOwn(PARAMETERS, firstWord) ? PARAMETERS[firstWord] : undefined
  if (firstWord === '_archived') return `There is no query parameter "${firstWord}": ${ARCHIVED}.`
  return called && `There is no query parameter "${firstWord}" here: use ${called}.`
}

const PARTS: Record<string, string> = {
  field: 'fieldName',
  name: 'fieldName',
  column: 'fieldName',
  path: 'fieldName',
  op: 'operator',
  comparison: 'operator',
  val: 'value',
  values: 'value',
  conditions: 'criteria',
  filters: 'criteria',
  rules: 'criteria',
}

/** Parts that have no equal here. */
const SENTENCES: Record<string, string> = {
  _archived: `It is refused: ${ARCHIVED}.`,
  _domain: 'It is refused: say the same in "criteria".',
  _domainContext: 'It is refused: put the values into "criteria".',
}

/** A hint for a part of criteria that other products have. */
export function explainForeignPart(name: string): string {
  if (Object.hasOwn(SENTENCES, name)) return ` ${SENTENCES[name]}`
  return Object.hasOwn(PARTS, name) ? ` It is called "${PARTS[name]}" here.` : ''
}
