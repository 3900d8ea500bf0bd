import { useMemo } from 'preact/hooks'
import { formatSettings } from '../basics/format-settings.ts'
import type { Field } from '../logic/model.ts'
import { contentWidth, widthsIn } from '../logic/widths.ts'
import type { Rows } from './rows.ts'

/** Rows whose content decides on the widths. */
const SAMPLE = 60

/** Widths of columns: what the address says, or what the first rows need. They stay while other rows come and go. */
export function useWidths(columns: Field[], rows: Rows, query: URLSearchParams) {
  const own = widthsIn(query)
  const names = columns.map(({ name }) => name).join()
  const needed = useMemo(() => {
    const known = Array.from({ length: SAMPLE }, (_, at) => rows.at(at)).filter((row) => row !== undefined)
    return columns.map((field) => contentWidth(field, known, formatSettings.peek()))
  }, [rows, rows.at(0)?.id, names])
  return {
    widths: columns.map(({ name }, at) => own[name] ?? (needed[at] as number)),
    isFixed: columns.map(({ name }) => own[name] !== undefined),
  }
}
