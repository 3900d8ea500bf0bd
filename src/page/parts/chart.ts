import { html } from '../basics/html.ts'
import { say } from '../language/say.ts'

interface ChartProperties {
  title: string
  /** newest last; undefined values are left out */
  values: (number | undefined)[]
  /** number of values that fit */
  room: number
  format(value: number): string
}

const WIDTH = 240
const HEIGHT = 48

/** A small line chart with its latest value. */
export function Chart({ title, values, room, format }: ChartProperties) {
  const known = values.filter((value) => value !== undefined)
  const most = Math.max(...known, 0) || 1
  const last = known.at(-1)
  const step = WIDTH / (room - 1)
  const points = values.flatMap((value, index) =>
    value === undefined
      ? []
      : [
          `${((room - values.length + index) * step).toFixed(1)},${(HEIGHT - 2 - (value / most) * (HEIGHT - 4)).toFixed(1)}`,
        ],
  )
  const text = last === undefined ? '–' : format(last)
  return html.figure(
    { class: 'chart' },
    html.figcaption(null, html.span({ class: 'hint' }, title), html.strong(null, text)),
    html.svg(
      {
        viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
        role: 'img',
        'aria-label': say('{title}: now {now}, at most {most}', { title, now: text, most: format(most) }),
      },
      html.polyline({ points: points.join(' '), fill: 'none', stroke: 'currentColor', 'stroke-width': 1.5 }),
    ),
  )
}
