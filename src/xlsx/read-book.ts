import { posix } from 'node:path'
import type { Readable } from 'node:stream'
import { type Entry, openPromise, type ZipFile } from 'yauzl'
import { type DateKind, dateKind } from './serial-dates.ts'
import { parseXml, readXml } from './xml.ts'

/** The parts of a workbook (ECMA-376): a ZIP file with XML in it. */

/** A workbook that cannot be read: the message says what to do. */
export class WorkbookError extends Error {}

/** Files in a workbook. */
const MAX_FILES = 10_000
/** Bytes of a text beside its characters. */
const TEXT_OVERHEAD = 10
/** Unpacked bytes of any file but a sheet and the texts. */
const MAX_SMALL_BYTES = 16_777_216
/** Unpacked bytes of a sheet. */
export const MAX_SHEET_BYTES = 4_294_967_296

export async function openZip(file: string): Promise<ZipFile> {
  try {
    return await openPromise(file, { autoClose: false })
  } catch (error) {
    if ('syscall' in (error as Error)) throw error
    throw new WorkbookError('is no .xlsx file, or is protected by a password. Save it as .xlsx without one, or as CSV')
  }
}

export async function listFiles(zip: ZipFile): Promise<Map<string, Entry>> {
  if (zip.entryCount > MAX_FILES) throw new WorkbookError(`has more than ${MAX_FILES} files in it`)
  const files = new Map<string, Entry>()
  for await (const entry of zip.eachEntry()) files.set(entry.fileName.replace(/^\//, ''), entry)
  return files
}

export async function openFile(zip: ZipFile, entry: Entry, maxBytes: number): Promise<Readable> {
  if (entry.uncompressedSize > maxBytes)
    throw new WorkbookError(`has ${entry.fileName}, which is too large. Save it as CSV`)
  return zip.openReadStreamPromise(entry)
}

export interface Book {
  sheet: Entry
  texts: string[]
  /** by the index of a cell's style */
  kinds: (DateKind | undefined)[]
  is1904: boolean
}

export async function readBook(zip: ZipFile, files: Map<string, Entry>, maxTexts: number): Promise<Book> {
  const small = async (name: string, onOpen: (name: string, attributes: Record<string, string>) => void) => {
    const entry = files.get(name)
    if (entry) await readXml(await openFile(zip, entry, MAX_SMALL_BYTES), onOpen)
  }
  /** The files that a file refers to, by id. */
  const related = async (name: string) => {
    const found = new Map<string, { type: string; path: string }>()
    const folder = posix.dirname(name)
    await small(posix.join(folder, '_rels', `${posix.basename(name)}.rels`), (tag, { Id, Type, Target }) => {
      if (tag !== 'Relationship' || Id === undefined || Target === undefined) return
      const path = Target.startsWith('/') ? Target.slice(1) : posix.join(folder, Target)
      found.set(Id, { type: String(Type).split('/').at(-1) as string, path })
    })
    return found
  }
  const ofType = (some: Map<string, { type: string; path: string }>, type: string) =>
    [...some.values()].find((one) => one.type === type)?.path ?? ''
  const main = ofType(await related(''), 'officeDocument')
  let is1904 = false
  const sheets: { id: string; isHidden: boolean }[] = []
  await small(main, (tag, { id = '', state, date1904 }) => {
    if (tag === 'workbookPr') is1904 = date1904 === '1' || date1904 === 'true'
    if (tag === 'sheet') sheets.push({ id, isHidden: state === 'hidden' || state === 'veryHidden' })
  })
  const others = await related(main)
  const [first] = sheets.toSorted((one, other) => Number(one.isHidden) - Number(other.isHidden))
  const sheet = files.get(others.get(first?.id ?? '')?.path ?? '')
  if (!sheet) throw new WorkbookError('is no .xlsx file: there is no sheet in it')
  const texts = await readTexts(zip, files.get(ofType(others, 'sharedStrings')), maxTexts)
  return { sheet, texts, kinds: await readKinds(ofType(others, 'styles'), small), is1904 }
}

/** The texts that cells refer to by their number. */
async function readTexts(zip: ZipFile, entry: Entry | undefined, maxLength: number): Promise<string[]> {
  const texts: string[] = []
  if (!entry) return texts
  let text = ''
  let length = 0
  const element = new TextElements()
  const events = {
    onOpen(name: string) {
      element.open(name)
    },
    onClose(name: string) {
      element.close(name)
      if (name !== 'si') return
      texts.push(unescapeText(text))
      length += TEXT_OVERHEAD
      text = ''
    },
    onText(part: string) {
      if (!element.isOpen) return
      text += part
      length += part.length
    },
  }
  for await (const _ of parseXml(await openFile(zip, entry, MAX_SHEET_BYTES), events))
    if (length > maxLength) throw new WorkbookError('has too many different texts. Save it as CSV')
  return texts
}

/** Whether text belongs to a cell: what is in `t`, but not how to pronounce it. */
export class TextElements {
  #isText = false
  #isSpoken = false

  get isOpen(): boolean {
    return this.#isText && !this.#isSpoken
  }

  open(name: string): void {
    if (name === 't') this.#isText = true
    if (name === 'rPh') this.#isSpoken = true
  }

  close(name: string): void {
    if (name === 't') this.#isText = false
    if (name === 'rPh') this.#isSpoken = false
  }
}

type ReadSmall = (name: string, onOpen: (name: string, attributes: Record<string, string>) => void) => Promise<void>

/** Reads which styles of cells show dates. */
async function readKinds(path: string, small: ReadSmall): Promise<(DateKind | undefined)[]> {
  const codes = new Map<string, string>()
  const used: string[] = []
  let isOfCells = false
  await small(path, (name, { numFmtId = '0', formatCode }) => {
    if (name === 'numFmt' && formatCode !== undefined) codes.set(numFmtId, formatCode)
    if (name === 'cellXfs' || name === 'cellStyles' || name === 'dxfs') isOfCells = name === 'cellXfs'
    if (name === 'xf' && isOfCells) used.push(numFmtId)
  })
  const kinds = new Map([...new Set(used)].map((id) => [id, dateKind(Number(id), codes.get(id))]))
  return used.map((id) => kinds.get(id))
}

/** Signs that XML cannot have are written as `_x000D_`. */
export const unescapeText = (text: string) =>
  text.includes('_x')
    ? text.replace(/_x([\da-f]{4})_/gi, (_, code) => String.fromCharCode(Number.parseInt(code, 16)))
    : text
