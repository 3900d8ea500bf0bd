import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import t from 'tap'

const ROOT = join(import.meta.dirname, '..')

/** Folders that each folder may import from. Every folder may also import its own files and the shared ones. */
const MAY_IMPORT: Record<string, string[]> = {
  plugins: [
    'src/openapi',
    'src/requests',
    'src/records',
    'src/journal',
    'src/filters',
    'src/tables',
    'src/model',
    'src/people',
    'src/storage',
    'src/upkeep',
    'src/site',
    'src/model-editing',
    'src/http',
  ],
  'src/records': ['src/requests', 'src/journal', 'src/filters', 'src/tables', 'src/model', 'src/storage', 'src/xlsx'],
  'src/openapi': ['src/requests', 'src/model', 'src/storage'],
  'src/requests': ['src/model', 'src/storage'],
  'src/filters': ['src/requests', 'src/tables', 'src/model', 'src/storage'],
  'src/journal': ['src/filters', 'src/tables', 'src/model', 'src/storage'],
  'src/tables': ['src/model', 'src/storage'],
  'src/people': ['src/model', 'src/storage'],
  'src/upkeep': ['src/journal', 'src/tables', 'src/model', 'src/storage'],
  'src/model': [],
  'src/model-editing': ['src/filters', 'src/tables', 'src/model', 'src/storage'],
  'src/xlsx': [],
  'src/http': [],
  'src/serving': ['src', 'src/http', 'src/tables', 'src/model', 'src/storage', 'src/upkeep'],
  'src/site': [],
  'src/client': [],
  'src/demo': ['src/client'],
  'src/lib': [],
  'src/storage': ['src/storage/sqlite', 'src/storage/postgres'],
  'src/storage/sqlite': ['src/storage'],
  'src/storage/postgres': ['src/storage'],
  'src/cli': [
    'src',
    'src/demo',
    'src/http',
    'src/requests',
    'src/records',
    'src/filters',
    'src/tables',
    'src/model',
    'src/people',
    'src/storage',
    'src/upkeep',
  ],
  src: [
    'src/http',
    'src/serving',
    'src/records',
    'src/journal',
    'src/filters',
    'src/tables',
    'src/model',
    'src/people',
    'src/storage',
    'src/upkeep',
  ],
}
/** The web page is a separate program: browser code that imports nothing of the server. */
const PAGE = ['src/page/parts', 'src/page/basics', 'src/page/logic', 'src/page/language']
Object.assign(MAY_IMPORT, {
  'src/page': ['src/page/places', 'src/page/palette', ...PAGE],
  'src/page/places': ['src/page/record', 'src/page/records', 'src/page/models', ...PAGE],
  'src/page/models': PAGE,
  'src/page/record': PAGE,
  'src/page/records': PAGE,
  'src/page/palette': PAGE,
  'src/page/parts': ['src/page/basics', 'src/page/logic', 'src/page/language'],
  'src/page/basics': ['src/page/logic', 'src/page/language', 'src/client'],
  'src/page/logic': ['src/page/language', 'src/lib'],
  'src/page/language': [],
})
/** Folders whose subfolders count as the folder itself: they only group files for the reader. */
const DIVIDED = ['src/records', 'src/tables']
const partOf = (path: string) => DIVIDED.find((part) => path.startsWith(`${part}/`)) ?? dirname(path)
const isOfPage = (path: string) => path.startsWith('src/page/')

const SHARED = ['src/errors.ts', 'src/envelope.ts', 'src/config.ts', 'src/data-folder.ts']
const FASTIFY_ALLOWED = ['src/app.ts']

const files = ['src', 'plugins'].flatMap((folder) =>
  readdirSync(join(ROOT, folder), { recursive: true })
    .map((name) => join(folder, String(name)))
    .filter((name) => name.endsWith('.ts')),
)

function importsOf(file: string): string[] {
  const source = readFileSync(join(ROOT, file), 'utf8')
  const found = source.matchAll(/^(?:import|export) [^'"]*from '([^']+)'|\bimport\('([^']+)'\)/gm)
  return [...found].map(([, fixed, later]) => (fixed ?? later) as string)
}

t.test('imports go downwards only', async (t) => {
  t.ok(files.length > 20, 'the rule is held against the real files')
  for (const file of files) {
    const part = partOf(file)
    for (const target of importsOf(file).filter((name) => name.startsWith('.'))) {
      const path = relative(ROOT, resolve(ROOT, dirname(file), target))
      const isShared = !isOfPage(file) && (SHARED.includes(path) || dirname(path) === 'src/lib')
      const allowed = isShared || partOf(path) === part || MAY_IMPORT[part]?.includes(partOf(path))
      t.ok(allowed, `${file} imports ${path}`)
      if (part === 'plugins') t.not(partOf(path), 'plugins', `${file}: plugins meet through decorators only`)
    }
  }
})

t.test('only some folders may use a package', async (t) => {
  for (const file of files) {
    const packages = importsOf(file).filter((name) => !name.startsWith('.') && !name.startsWith('node:'))
    if (file.startsWith('src') && !FASTIFY_ALLOWED.includes(file))
      t.notOk(
        packages.some((name) => /^(@fastify\/(?!busboy)|fastify)/.test(name)),
        `${file} does not know Fastify`,
      )
    const text = readFileSync(join(ROOT, file), 'utf8')
    t.notMatch(text, /^import (?!type\b).*'node:https?'/m, `${file} gets node:http from src/lib/node-http.ts`)
    if (!file.startsWith('src/storage/sqlite'))
      t.notOk(packages.includes('better-sqlite3'), `${file} does not know better-sqlite3`)
    if (!file.startsWith('src/storage/postgres')) t.notOk(packages.includes('pg'), `${file} does not know pg`)
    if (!file.startsWith('src/storage'))
      t.notOk(
        importsOf(file).some((name) => /\/(?:sqlite|postgres)\//.test(name)),
        `${file} names no engine`,
      )
  }
})

t.test('no file imports itself through others', async (t) => {
  const graph = new Map(
    files.map((file) => {
      const targets = importsOf(file).filter((name) => name.startsWith('.'))
      return [file, targets.map((target) => relative(ROOT, resolve(ROOT, dirname(file), target)))]
    }),
  )
  const done = new Set<string>()
  const circles: string[] = []
  const visit = (file: string, path: string[]) => {
    if (path.includes(file)) circles.push([...path.slice(path.indexOf(file)), file].join(' → '))
    else if (!done.has(file)) {
      for (const target of graph.get(file) ?? []) visit(target, [...path, file])
      done.add(file)
    }
  }
  for (const file of files) visit(file, [])
  t.strictSame(circles, [])
})

/** SQL that only one engine understands. Comments may contain it, statements may not. */
const ENGINE_SQL = /\bsqlite_\w+|\bPRAGMA\b|\bpragma_\w+|\bpg_\w+\(|\bplpgsql\b|\bDEFERRABLE\b|\bjson_each\b|::text\b/

t.test('no SQL of one engine outside storage/', async (t) => {
  for (const file of files.filter((name) => !name.startsWith('src/storage') && !isOfPage(name))) {
    const code = readFileSync(join(ROOT, file), 'utf8').replaceAll(/\/\*[\s\S]*?\*\/|\/\/.*/g, '')
    t.notMatch(code, ENGINE_SQL, file)
  }
})

/** Functions with a statement on a model's table but without `withReach`, and why no user sees more than they may. */
const WITHOUT_REACH: Record<string, string> = {
  'src/journal/feed.ts': 'reads for all listeners at once; each change is then filtered by `filterVisible`',
  'src/journal/last-states.ts': 'finds out which records are deleted, to compare them with a rule',
  'src/records/find/find-strategy.ts': '`chooseStrategy` calls `withReach`, and passes the condition on',
  'src/records/find/index-advice.ts': 'reads the highest id, for a log message',
  'src/records/find/plain-pages.ts': 'is only used for users who may read all records',
  'src/records/history/deleted.ts':
    'leaves out what was restored; the journal has the owners, and `couldRead` compares rules',
  'src/records/write/units.ts': 'inserts a new record',
  'src/records/aggregate/columns.ts': 'aggregate.ts adds `withReach` to its SELECT',
  'src/records/write/merge.ts': 'gets `reached` from units.ts, which calls `withReachByIndex`',
}

t.test('statements on models’ tables go through the access filter', async (t) => {
  const found = new Set<string>()
  for (const file of files.filter((name) =>
    /^(?:plugins|src\/(?:records|journal|requests|upkeep|people))\//.test(name),
  )) {
    // Functions are separated by empty lines.
    for (const part of readFileSync(join(ROOT, file), 'utf8').split(/\n\s*\n/)) {
      const table = /\b(?:selectFrom|updateTable|deleteFrom|insertInto|table|quote)\(\s*(?:tableName\(|table\))/
      if (table.test(part) && !/withReach(?:ByIndex)?\(/.test(part)) found.add(file)
    }
  }
  t.strictSame([...found].sort(), Object.keys(WITHOUT_REACH).sort())
})

t.test('files stay short', async (t) => {
  for (const file of files) {
    const lines = readFileSync(join(ROOT, file), 'utf8').split('\n').length
    t.ok(lines <= 300, `${file} has ${lines} lines`)
  }
})
