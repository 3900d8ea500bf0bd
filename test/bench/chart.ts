import { GOALS, type Result } from './work.ts'

const WIDTH = 640
const LEFT = 90
const ROW = 44
const MOST = 3

/** A bar per kind of work: the rate as a multiple of the hand-written server's, which is the line at 1. */
export function chart(results: Result[]): string {
  const x = (ratio: number) => LEFT + (Math.min(ratio, MOST) / MOST) * (WIDTH - LEFT - 60)
  const height = 50 + results.length * ROW
  const bars = results.flatMap(({ work, handwritten, dossier }, index) => {
    const ratio = dossier / handwritten
    const y = 40 + index * ROW
    return [
      `<text x="${LEFT - 10}" y="${y + 20}" text-anchor="end">${work}</text>`,
      `<rect x="${LEFT}" y="${y}" width="${(x(ratio) - LEFT).toFixed(1)}" height="28" rx="3" fill="#2f6f9f"/>`,
      `<text x="${(x(ratio) + 8).toFixed(1)}" y="${y + 20}">${ratio.toFixed(2)}</text>`,
      `<line x1="${x(GOALS[work]).toFixed(1)}" x2="${x(GOALS[work]).toFixed(1)}" y1="${y - 4}" y2="${y + 32}" stroke="#c9772b" stroke-width="3"/>`,
    ]
  })
  const one = x(1).toFixed(1)
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" font-family="sans-serif" font-size="15" fill="#555">`,
    '<title>Rate of the service as a multiple of a hand-written server</title>',
    `<line x1="${one}" x2="${one}" y1="28" y2="${height - 6}" stroke="#999" stroke-dasharray="4 4"/>`,
    `<text x="${one}" y="18" text-anchor="middle">hand-written server = 1</text>`,
    `<text x="${WIDTH - 10}" y="18" text-anchor="end" fill="#c9772b">| goal</text>`,
    ...bars,
    '</svg>',
    '',
  ].join('\n')
}
