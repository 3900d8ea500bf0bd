import { h } from 'preact'
import { to } from '../basics/address.ts'
import { html } from '../basics/html.ts'
import { useLoaded } from '../basics/loading.ts'
import { modelNamed } from '../basics/models.ts'
import { zone } from '../basics/zone.ts'
import { highlight } from '../logic/highlight.ts'
import { displayName, type Field, hasLinks, type Row } from '../logic/model.ts'
import { formatValue, NOTHING } from '../logic/values.ts'

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

/** A value for display: references by name, times in the page's zone. */
export function Cell({ field, value, plain, short, words = [] }: CellProperties) {
  if (field.reference !== undefined && typeof value === 'object' && value !== null)
    return h(Referred, { model: field.reference, row: value as Row, plain })
  // Only the id is known of a record that the user may not read.
  if (field.reference !== undefined && typeof value === 'number')
    return html.span({ title: 'out of your reach' }, `#${value}`)
  if (field.items?.reference !== undefined && Array.isArray(value) && value.length > 0)
    return h(Links, { model: field.items.reference, rows: value, plain, short })
  const text = hasLinks(field) ? NOTHING : formatValue(field, value, zone.value)
  if (text === NOTHING) return html.span({ class: 'nothing', 'aria-label': 'nothing' }, NOTHING)
  const shown = highlightedText(text, words)
  if (!plain && field.format === 'email') return html.a({ href: `mailto:${encodeURI(text)}` }, shown)
  // Only http and https: a `javascript:` URI would run a script.
  if (!plain && field.format === 'uri' && /^https?:\/\//i.test(text))
    return html.a({ href: text, rel: 'noreferrer noopener', target: '_blank' }, shown)
  return html.span(null, shown)
}

/** A text in which what was searched for is marked. */
export const highlightedText = (text: string, words: string[]) =>
  highlight(text, words).map((piece) => (piece.isMatch ? html.mark(null, piece.text) : piece.text))

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
    short && rows.length > FEW && html.span({ class: 'hint', title: `${rows.length} in all` }, `${rows.length}:`),
    rows
      .slice(0, short ? FEW : rows.length)
      .map((row, at) =>
        html.span(
          { key: at, class: 'chip' },
          row !== null && typeof row === 'object'
            ? h(Referred, { model, row, plain })
            : html.span({ title: 'out of your reach' }, row === null ? '#' : `#${row}`),
        ),
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
  return plain ? html.span(null, text) : html.a({ href: to('m', name, row.id) }, text)
}
