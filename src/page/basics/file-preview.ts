import { type FilePreview, previewCsv } from '../logic/csv.ts'
import { upload } from './upload.ts'

/** Bytes of a CSV file that are looked at. */
const PEEK_BYTES = 1_000_000

/** The first rows of a file. A spreadsheet is read by the service. */
export async function previewFile(file: File, maxRows: number): Promise<FilePreview> {
  if (!/\.xlsx$/i.test(file.name)) return previewCsv(await file.slice(0, PEEK_BYTES).text(), maxRows)
  const { columns, rows } = await upload<{ columns: string[]; rows: string[][] }>('/ws/files/preview', file, () => {})
  return { header: columns, rows: rows.slice(0, maxRows), format: { format: 'xlsx' } }
}

let handed: File | undefined

/** Hands a file to the place that is opened next. */
export function handFile(file: File): void {
  handed = file
}

/** The file that was handed over; only once. */
export function handedFile(): File | undefined {
  const file = handed
  handed = undefined
  return file
}
