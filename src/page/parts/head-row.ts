import { html } from '../basics/html.ts'

/** The head of a table whose columns have only titles. */
export const headRow = (titles: string[]) =>
  html.thead(
    null,
    html.tr(
      null,
      titles.map((title) => html.th({ key: title, scope: 'col' }, title)),
    ),
  )
