/** A text that does not fit is told by the browser's own hint. */
export function nameWhatIsCut({ target }: MouseEvent): void {
  const cell = (target as Element).closest<HTMLElement>('.rows .cell')
  if (cell) cell.title = cell.scrollWidth > cell.clientWidth ? (cell.textContent ?? '') : ''
}
