import { h, type JSX } from 'preact'
import { to } from '../basics/address.ts'
import { formatSettings } from '../basics/format-settings.ts'
import { html } from '../basics/html.ts'
import { useLoaded } from '../basics/loading.ts'
import { modelNamed } from '../basics/models.ts'
import { say } from '../language/say.ts'
import { highlight } from '../logic/highlight.ts'
import { displayName, type Field, hasLinks, isImage, type Row } from '../logic/model.ts'
import { formatValue, itemSchema, NOTHING } from '../logic/values.ts'
import { icon } from './icon.ts'
import { pill, tile } from './tile.ts'

interface CellProperties {
  field: Field
  value: unknown
  /** shows text only, for cells that are inside a link already */
  plain?: boolean
  /** shows only the first of several records */
  short?: boolean
  /** folded words to highlight */
  words?: string[]
}

/** Records that are shown of several, where there is little room. */
const FEW = 3

/** A value for display: references by name, choices as pills, times and numbers as the reader writes them. */
export function Cell({ field, value, plain, short, words = [] }: CellProperties): JSX.Element {
  if (field.reference !== undefined && typeof value === 'object' && value !== null)
    return h(Referred, { model: field.reference, row: value as Row, plain })
  // Only the id is known of a record that the user may not read.
  if (field.reference !== undefined && typeof value === 'number')
    return html.span({ title: say('out of your reach') }, `#${value}`)
  if (field.items?.reference !== undefined && Array.isArray(value) && value.length > 0)
    return h(Links, { model: field.items.reference, rows: value, plain, short })
  if (value === true) return html.span(null, icon('check'), html.span({ class: 'unseen' }, say('yes')))
  if (value === false) return html.span({ class: 'unseen' }, say('no'))
  if (Array.isArray(value) && value.length > 0 && value.every((item) => typeof item !== 'object'))
    return tags(field, value)
  const isEmpty = hasLinks(field) || (Array.isArray(value) && value.length === 0)
  const text = isEmpty ? NOTHING : formatValue(field, value, formatSettings.value)
  if (text === NOTHING) return html.span({ class: 'nothing', 'aria-label': say('nothing') }, short ? '' : NOTHING)
  const shown = highlightedText(text, words)
  // The colour is that of the value, in every language.
  if (field.enum) return pill(String(value), shown)
  if (!plain && field.format === 'email')
    return html.a({ class: 'outside', href: `mailto:${encodeURI(text)}`, dir: 'ltr' }, shown)
  if (isImage(field, text))
    return html.img({ class: 'picture', src: text, alt: field.title, loading: 'lazy', referrerPolicy: 'no-referrer' })
  // Only http and https: a `javascript:` URI would run a script.
  if (!plain && field.format === 'uri' && /^https?:\/\//i.test(text))
    return html.a({ class: 'outside', href: text, rel: 'noreferrer noopener', target: '_blank', dir: 'ltr' }, shown)
  return html.span({ dir: 'auto' }, shown)
}

/** A text in which what was searched for is marked. */
export const highlightedText = (text: string, words: string[]) =>
  highlight(text, words).map((piece) => (piece.isMatch ? html.mark(null, piece.text) : piece.text))

/** Several values of an array: choices as pills, others as tags. */
function tags(field: Field, values: unknown[]) {
  return html.span(
    { class: 'chips' },
    values.map((item) => {
      const text = item === '' ? '""' : formatValue(itemSchema(field), item, formatSettings.value)
      return field.items?.enum ? pill(String(item), text) : html.span({ class: 'tag' }, text)
    }),
  )
}

interface LinksProperties {
  model: string
  /** records, ids of records of another model that the user may not read, or null for a record out of reach */
  rows: (Row | number | null)[]
  plain?: boolean | undefined
  short?: boolean | undefined
}

/** Several referenced records. */
const Links = ({ model, rows, plain, short }: LinksProperties) =>
  html.span(
    { class: 'chips' },
    short &&
      rows.length > FEW &&
      html.span({ class: 'hint', title: say('{count} in all', { count: rows.length }) }, `${rows.length}:`),
    rows
      .slice(0, short ? FEW : rows.length)
      .map((row, at) =>
        row !== null && typeof row === 'object'
          ? h(Referred, { key: at, model, row, plain })
          : html.span({ key: at, class: 'tag', title: say('out of your reach') }, row === null ? '#' : `#${row}`),
      ),
  )

interface ReferredProperties {
  model: string
  row: Row
  plain?: boolean | undefined
}

/** A referenced record, shown by its name. */
export function Referred({ model: name, row, plain }: ReferredProperties) {
  const { value: model } = useLoaded(() => modelNamed(name), [name])
  const text = displayName(row, model)
  const named = [tile(text, true), html.span({ dir: 'auto' }, text)]
  return plain ? html.span({ class: 'who' }, named) : html.a({ class: 'who', href: to('m', name, row.id) }, named)
}
