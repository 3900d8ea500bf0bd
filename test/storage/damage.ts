import { closeSync, openSync, writeSync } from 'node:fs'
import Sqlite from 'better-sqlite3'

/**
 * Overwrites a leaf page of a table, by default the one in the middle of the file. `where` is 0 for the first, 1 for
 * the last.
 */
export function damage(file: string, table: string, where = 0.5): void {
  const db = new Sqlite(file, { readonly: true })
  const pages = db
    .prepare(`SELECT pageno FROM dbstat WHERE name = ? AND pagetype = 'leaf' ORDER BY pageno`)
    .pluck()
    .all(table) as number[]
  db.close()
  const page = pages[Math.min(Math.floor(pages.length * where), pages.length - 1)] as number
  const handle = openSync(file, 'r+')
  writeSync(handle, Buffer.alloc(4096, 0xff), 0, 4096, (page - 1) * 4096)
  closeSync(handle)
}
