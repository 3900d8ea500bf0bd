import { html } from '../basics/html.ts'
import { say } from '../language/say.ts'
import { type ChartKind, heights, pieParts } from '../logic/summary.ts'

interface SummaryChartProperties {
  kind: ChartKind
  /** of each group, in order */
  labels: string[]
  values: unknown[]
  /** the values for people */
  texts: string[]
  title: string
}

const WIDTH = 600
const HEIGHT = 200
/** Groups that a picture shows; the table beside it has all of them. */
const MAX_SHOWN = 60
/** Bars that have their names and values below them. */
const MAX_NAMED = 12
const HUES = 12

/** A picture of values by group. The numbers stand in a table beside it. */
export function SummaryChart({ kind, labels, values, texts, title }: SummaryChartProperties) {
  const shown = heights(values.slice(0, MAX_SHOWN))
  if (shown.length === 0) return null
  const about = { title, count: shown.length, total: values.length }
  const label = {
    bar: say('{title}: {count} of {total} groups as a bar chart. The numbers are in the table.', about),
    line: say('{title}: {count} of {total} groups as a line chart. The numbers are in the table.', about),
    pie: say('{title}: {count} of {total} groups as a pie chart. The numbers are in the table.', about),
  }[kind]
  const viewBox = kind === 'pie' ? '-1.05 -1.05 2.1 2.1' : `0 0 ${WIDTH} ${HEIGHT}`
  const draw = { bar: bars, line, pie }[kind]
  // Bars and lines are as wide as there is room.
  const preserveAspectRatio = kind === 'pie' ? undefined : 'none'
  return [
    html.svg(
      { class: `summary ${kind}`, viewBox, preserveAspectRatio, role: 'img', 'aria-label': label },
      draw(shown, labels, texts),
    ),
    kind === 'bar' && shown.length <= MAX_NAMED && barNames(labels, texts),
  ]
}

/** The labels below the bars. A screen reader has the table instead. */
const barNames = (labels: string[], texts: string[]) =>
  html.div(
    { class: 'bar-names', 'aria-hidden': true },
    labels.map((label, at) => html.span({ key: at, title: `${label}: ${texts[at]}` }, html.b(null, texts[at]), label)),
  )

/** Places of values between the lowest and the highest; 0 is always among them. */
function scale(values: number[]) {
  const [low, high] = [Math.min(0, ...values), Math.max(0, ...values)]
  return (value: number) => HEIGHT - ((value - low) / (high - low || 1)) * HEIGHT
}

function bars(values: number[], labels: string[], texts: string[]) {
  const y = scale(values)
  const step = WIDTH / values.length
  return values.map((value, at) =>
    html.rect(
      {
        key: at,
        x: at * step + step * 0.1,
        width: step * 0.8,
        y: Math.min(y(0), y(value)),
        height: Math.abs(y(0) - y(value)),
      },
      html.title(null, `${labels[at]}: ${texts[at]}`),
    ),
  )
}

function line(values: number[]) {
  const y = scale(values)
  const step = WIDTH / Math.max(1, values.length - 1)
  const points = values.map((value, at) => `${(at * step).toFixed(1)},${y(value).toFixed(1)}`)
  return [
    html.line({ x1: 0, x2: WIDTH, y1: y(0), y2: y(0) }),
    html.polyline({ points: points.join(' '), fill: 'none', 'stroke-width': 2, 'vector-effect': 'non-scaling-stroke' }),
  ]
}

function pie(values: number[], labels: string[], texts: string[]) {
  return pieParts(values).map((d, at) =>
    html.path({ key: at, d, class: `part${at % HUES}` }, html.title(null, `${labels[at]}: ${texts[at]}`)),
  )
}
