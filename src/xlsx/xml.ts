import type { Readable } from 'node:stream'
import sax, { type SAXOptions } from 'sax'

/** Callbacks for the elements of a workbook's file. Names have no prefix. */
export interface XmlEvents {
  onOpen(name: string, attributes: Record<string, string>): void
  onClose(name: string): void
  onText(text: string): void
}

export class XmlError extends Error {}

/** Files of spreadsheets stay far below these. */
const MAX_DEPTH = 100
const MAX_ATTRIBUTES = 100

const withoutPrefix = (name: string) => name.slice(name.indexOf(':') + 1)

/** `@types/sax` does not know the first one. */
const OPTIONS = { strictEntities: true, position: false } as SAXOptions

/** Parses XML as it comes; after each piece, control goes back to the consumer. Entities of its own are an error. */
export async function* parseXml(source: Readable, events: XmlEvents): AsyncGenerator<number> {
  const parser = sax.parser(true, OPTIONS)
  let depth = 0
  let count = 0
  parser.onattribute = () => {
    if (++count > MAX_ATTRIBUTES) throw new XmlError('there are too many attributes')
  }
  parser.onopentag = ({ name, attributes }) => {
    count = 0
    if (++depth > MAX_DEPTH) throw new XmlError('it is nested too deeply')
    const own = Object.entries(attributes as Record<string, string>).map(([key, value]) => [withoutPrefix(key), value])
    events.onOpen(withoutPrefix(name), Object.fromEntries(own))
  }
  parser.onclosetag = (name) => {
    depth--
    events.onClose(withoutPrefix(name))
  }
  parser.ontext = (text) => events.onText(text)
  parser.oncdata = (text) => events.onText(text)
  let fault: Error | undefined
  parser.onerror = (error) => {
    fault ??= error
  }
  const decoder = new TextDecoder('utf-8', { fatal: true })
  const write = (read: () => string, isLast: boolean) => {
    try {
      const text = read()
      if (text !== '') parser.write(text)
      if (isLast) parser.close()
    } catch (error) {
      // Faults of the text itself; an error of the consumer is passed on.
      throw fault || error instanceof TypeError
        ? new XmlError((fault ?? (error as Error)).message.split('\n')[0])
        : error
    }
    if (fault) throw new XmlError(fault.message.split('\n')[0])
  }
  for await (const chunk of source as AsyncIterable<Uint8Array>) {
    write(() => decoder.decode(chunk, { stream: true }), false)
    yield chunk.length
  }
  write(() => decoder.decode(), true)
}

/** Parses a whole small file. */
export async function readXml(source: Readable, onOpen: XmlEvents['onOpen']): Promise<void> {
  for await (const _ of parseXml(source, { onOpen, onClose() {}, onText() {} }));
}
