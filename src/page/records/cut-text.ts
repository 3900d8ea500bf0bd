/** Shows the whole text of a cell that is cut off as the hint of the browser. */
export function titleCutCells({ target }: MouseEvent): void {
  const cell = (target as Element).closest<HTMLElement>('.rows .cell')
  if (cell) cell.title = cell.scrollWidth > cell.clientWidth ? (cell.textContent ?? '') : ''
}
