import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'
import { dirname, join } from 'node:path'

const ROOT = join(import.meta.dirname, '..')

/** Writes all TypeScript files without their types into a folder, for test/preload.js. */
export function stripTo(folder: string): void {
  for (const top of ['src', 'plugins', 'test'])
    for (const name of readdirSync(join(ROOT, top), { recursive: true, encoding: 'utf8' })) {
      if (!name.endsWith('.ts') || name.endsWith('.d.ts')) continue
      const target = join(folder, top, name)
      mkdirSync(dirname(target), { recursive: true })
      writeFileSync(target, stripTypeScriptTypes(readFileSync(join(ROOT, top, name), 'utf8')))
    }
}
