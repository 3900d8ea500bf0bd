import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { bundlePage, type PageFile } from './bundle.ts'

/** The web page as it is sent: its files, and the HTML document that loads them. */
export interface Site {
  /** hash of all files; part of their addresses, so an address never changes its content */
  hash: string
  files: Map<string, PageFile>
  /** Content-Security-Policy */
  policy: string
  /** HTML document for a user who is logged in, or for a visitor who is not */
  document(user: { username: string; roles: string[] } | undefined): string
}

const PAGE = join(import.meta.dirname, '../page')
const ENTRY = 'main.ts'
/** In this order, because later styles override earlier ones. */
const STYLES = ['base', 'shell', 'record', 'table', 'form', 'lists', 'narrow'].map((name) => `style/${name}.css`)
const ICON =
  "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E%3Crect width='16' height='16' rx='4' fill='%233b5bdb'/%3E%3Cpath d='M5 4h4a4 4 0 0 1 0 8H5z' fill='none' stroke='%23fff' stroke-width='2'/%3E%3C/svg%3E"

let made: Promise<Site> | undefined

/** Built at the first request, and only once: the files of a running service do not change. */
export function getSite(): Promise<Site> {
  made ??= make()
  return made
}

async function make(): Promise<Site> {
  const { files: list, entry, preloads, style } = await bundlePage({ folder: PAGE, entry: ENTRY, styles: STYLES })
  const hash = contentHash(list)
  const at = (name: string) => `/page/${hash}/${name}`
  const head = [
    '<meta charset="utf-8">',
    '<meta name="viewport" content="width=device-width, initial-scale=1">',
    '<meta name="color-scheme" content="light dark">',
    '<title>Dossier</title>',
    `<link rel="icon" href="${ICON}">`,
    `<link rel="stylesheet" href="${at(style)}">`,
    ...preloads.map((name) => `<link rel="modulepreload" href="${at(name)}">`),
    `<script type="module" src="${at(entry)}"></script>`,
  ]
  return {
    hash,
    files: new Map(list.map((file) => [file.name, file])),
    policy: POLICY,
    document(user) {
      const who = user ? `<meta name="dossier-user" content="${escaped(JSON.stringify(user))}">` : ''
      return `<!doctype html>\n<html lang="en">\n<head>\n${[...head, who].join('\n')}\n</head>\n<body></body>\n</html>\n`
    },
  }
}

/** Allows only what the service itself sends, and no text that becomes a script. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  // Fields may hold addresses of pictures; the service cannot tell what they will be.
  "img-src 'self' data: https:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ')

function contentHash(files: PageFile[]): string {
  const hash = createHash('sha256')
  for (const { name, bytes } of files) hash.update(`${name}\0${bytes.length}\0`).update(bytes)
  return hash.digest('hex').slice(0, 16)
}

const SIGNS: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' }
const escaped = (text: string) => text.replace(/[&<>"]/g, (sign) => SIGNS[sign] as string)
