import { html } from '../basics/html.ts'

/** Outlines of 16 by 16, drawn by the lines of the text's colour. */
const PATHS = {
  logo: 'M4 2h5.5L13 5.5V14H4zM9 2v4h4M6.5 9h4M6.5 11.5h3',
  home: 'M2 7.5 8 2.5l6 5M3.5 6.5V13.5h9V6.5M6.5 13.5v-4h3v4',
  users:
    'M6 7.5a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5M1.5 13.5c0-2.5 2-4 4.5-4s4.5 1.5 4.5 4M11 3a2.3 2.3 0 0 1 0 4.4M12 9.8c1.6.5 2.5 1.8 2.5 3.7',
  gear: 'M8 10.2a2.2 2.2 0 1 0 0-4.4 2.2 2.2 0 0 0 0 4.4M8 1.5v2M8 12.5v2M1.5 8h2M12.5 8h2M3.4 3.4l1.4 1.4M11.2 11.2l1.4 1.4M12.6 3.4l-1.4 1.4M4.8 11.2l-1.4 1.4',
  search: 'M7 11.5a4.5 4.5 0 1 0 0-9 4.5 4.5 0 0 0 0 9M10.5 10.5 14 14',
  filter: 'M2 4h12M4.5 8h7M6.5 12h3',
  group: 'M2.5 2.5h4.5v4.5H2.5zM9 2.5h4.5v4.5H9zM2.5 9h4.5v4.5H2.5zM9 9h4.5v4.5H9z',
  columns: 'M2 3h12v10H2zM6 3v10M10 3v10',
  table: 'M2 3h12v10H2zM2 6.5h12M6.5 3v10',
  board: 'M2.5 2.5h3v11h-3zM6.5 2.5h3v7h-3zM10.5 2.5h3v9h-3z',
  calendar: 'M2.5 3.5h11v10h-11zM2.5 6.5h11M5.5 2v3M10.5 2v3',
  chart: 'M2.5 2v11.5H14M5.5 11V8M8.5 11V5M11.5 11V7',
  plus: 'M8 3v10M3 8h10',
  check: 'm3 8.5 3.2 3.2L13 4.8',
  clock: 'M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12M8 4.5V8l2.5 1.5',
  undo: 'M5.5 3 2.5 6l3 3M2.5 6H10a3.5 3.5 0 0 1 0 7H7',
  left: 'M10 3 5 8l5 5',
  right: 'm6 3 5 5-5 5',
  close: 'm4 4 8 8M12 4l-8 8',
  more: 'M3.5 8h.01M8 8h.01M12.5 8h.01',
  code: 'M5.5 4 2 8l3.5 4M10.5 4 14 8l-3.5 4',
  star: 'm8 2 1.8 3.8 4.2.6-3 2.9.7 4.2L8 11.5l-3.7 2 .7-4.2-3-2.9 4.2-.6z',
  wide: 'M9.5 2.5h4v4M13.5 2.5 9 7M6.5 13.5h-4v-4M2.5 13.5 7 9',
} as const

export type IconName = keyof typeof PATHS

/** A small picture beside words, or in a button that has a label. */
export const icon = (name: IconName) =>
  html.svg({ class: `icon icon-${name}`, viewBox: '0 0 16 16', 'aria-hidden': true }, html.path({ d: PATHS[name] }))
