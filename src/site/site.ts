import { createHash } from 'node:crypto'
import { readdirSync } from 'node:fs'
import { join, posix } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type BrowserFile, browserFiles } from './browser-files.ts'

/** The web page as it is sent: its files, and the HTML document that loads them. */
export interface Site {
  /** hash of all files; part of their addresses, so an address never changes its content */
  hash: string
  files: Map<string, BrowserFile>
  /** Content-Security-Policy */
  policy: string
  /** HTML document for a user who is logged in, or for a visitor who is not */
  document(user: { username: string; roles: string[] } | undefined): string
}

const SOURCES = join(import.meta.dirname, '..')
const FOLDER = 'page'
/** What the page shares with the service. */
const SHARED = ['client/connection.ts', 'client/errors.ts', 'lib/fold.ts', 'lib/named-values.ts', 'lib/search-words.ts']
const ENTRY = 'page/main.ts'
/** In this order, because later styles override earlier ones. */
const STYLES = ['base', 'shell', 'record', 'table', 'form', 'lists', 'narrow'].map(
  (name) => `${FOLDER}/style/${name}.css`,
)
/** Libraries of the page: import specifiers → files. */
const LIBRARIES = {
  preact: 'preact.mjs',
  'preact/hooks': 'hooks.mjs',
  '@preact/signals': 'signals.mjs',
  '@preact/signals-core': 'signals-core.mjs',
}
const ICON =
  "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E%3Crect width='16' height='16' rx='4' fill='%233b5bdb'/%3E%3Cpath d='M5 4h4a4 4 0 0 1 0 8H5z' fill='none' stroke='%23fff' stroke-width='2'/%3E%3C/svg%3E"

let made: Promise<Site> | undefined

/** Built at the first request, and only once: the files of a running service do not change. */
export function site(): Promise<Site> {
  made ??= make()
  return made
}

async function make(): Promise<Site> {
  const page = readdirSync(join(SOURCES, FOLDER), { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.(?:ts|css)$/.test(name))
    .sort()
    .map((name) => `${FOLDER}/${name.replaceAll('\\', '/')}`)
  const own = [...SHARED, ...page].map((name): [string, string] => [name, join(SOURCES, name)])
  const libraries = Object.entries(LIBRARIES).map(([name, file]): [string, string] => [
    `library/${file}`,
    fileURLToPath(import.meta.resolve(name)),
  ])
  const list = await browserFiles(Object.fromEntries([...libraries, ...own]))
  const files = new Map(list.map((file) => [file.name, file]))
  const hash = contentHash(list)
  const at = (name: string) => `/page/${hash}/${name}`
  const importMap = JSON.stringify({
    imports: Object.fromEntries(Object.entries(LIBRARIES).map(([name, file]) => [name, at(`library/${file}`)])),
  })
  const first = collectImports(ENTRY, files)
  const head = [
    '<meta charset="utf-8">',
    '<meta name="viewport" content="width=device-width, initial-scale=1">',
    '<meta name="color-scheme" content="light dark">',
    '<title>Dossier</title>',
    `<link rel="icon" href="${ICON}">`,
    ...STYLES.map((name) => `<link rel="stylesheet" href="${at(name)}">`),
    `<script type="importmap">${importMap}</script>`,
    ...first.map((name) => `<link rel="modulepreload" href="${at(name)}">`),
    `<script type="module" src="${at(ENTRY)}"></script>`,
  ]
  return {
    hash,
    files,
    policy: policyFor(importMap),
    document(user) {
      const who = user ? `<meta name="dossier-user" content="${escaped(JSON.stringify(user))}">` : ''
      return `<!doctype html>\n<html lang="en">\n<head>\n${[...head, who].join('\n')}\n</head>\n<body></body>\n</html>\n`
    },
  }
}

/** Allows only what the service itself sends, and no text that becomes a script. */
function policyFor(importMap: string): string {
  const digest = createHash('sha256').update(importMap).digest('base64')
  return [
    "default-src 'none'",
    `script-src 'self' 'sha256-${digest}'`,
    "style-src 'self'",
    "img-src 'self' data:",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'self'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join('; ')
}

/** A module and its imports, transitively: the browser preloads them in parallel, not level by level. */
function collectImports(entry: string, files: Map<string, BrowserFile>): string[] {
  const needed = new Set<string>()
  const follow = (name: string) => {
    if (needed.has(name)) return
    needed.add(name)
    for (const target of (files.get(name) as BrowserFile).imports) follow(moduleName(target, name))
  }
  follow(entry)
  return [...needed]
}

function moduleName(target: string, from: string): string {
  if (target.startsWith('.')) return posix.join(posix.dirname(from), target)
  return `library/${LIBRARIES[target as keyof typeof LIBRARIES]}`
}

function contentHash(files: BrowserFile[]): string {
  const hash = createHash('sha256')
  for (const { name, bytes } of files) hash.update(`${name}\0${bytes.length}\0`).update(bytes)
  return hash.digest('hex').slice(0, 16)
}

const SIGNS: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' }
const escaped = (text: string) => text.replace(/[&<>"]/g, (sign) => SIGNS[sign] as string)
