import { constants, crc32, deflateRawSync } from 'node:zlib'

/** Sizes and places in a ZIP file have 32 bits; spreadsheets open no larger ones. */
const MAX_BYTES = 0xffffffff
/** Version of the format that is needed to read it: 2.0, deflated files. */
const VERSION = 20
/** The sizes follow the data; names are UTF-8. */
const FLAGS = 0x0808
const DEFLATED = 8
/** 1980-01-01, the first day that the format knows. */
const DAY = 0x0021
/** An empty last block. */
const END_OF_DATA = Buffer.from([0x03, 0x00])

interface Entry {
  name: Buffer
  offset: number
  crc: number
  packed: number
  size: number
}

/**
 * Writes a ZIP file piece by piece, without knowing beforehand how long its files are. Written by hand, because it has
 * to run synchronously on the thread that formats the rows, and is short: node packs and adds up the checksums.
 */
export class ZipWriter {
  readonly #entries: Entry[] = []
  readonly #maxEntry: number
  #offset: number

  /** `offset` and `maxEntry` are for tests. */
  constructor(offset = 0, maxEntry = MAX_BYTES) {
    this.#offset = offset
    this.#maxEntry = maxEntry
  }

  begin(name: string): Uint8Array {
    const entry = { name: Buffer.from(name), offset: this.#offset, crc: 0, packed: 0, size: 0 }
    this.#entries.push(entry)
    return this.#count(Buffer.concat([fields([4, 0x04034b50], ...common(entry), [2, 0]), entry.name]))
  }

  /** Each piece is packed by itself and ends at a full byte, so that the pieces together are one stream. */
  add(bytes: Uint8Array): Uint8Array {
    const entry = this.#entries.at(-1) as Entry
    const packed = deflateRawSync(bytes, { finishFlush: constants.Z_SYNC_FLUSH })
    entry.crc = crc32(bytes, entry.crc)
    entry.size += bytes.length
    entry.packed += packed.length
    if (entry.size > this.#maxEntry) throw new Error('A file in it has more than 4 GB.')
    return this.#count(packed)
  }

  finish(): Uint8Array {
    const entry = this.#entries.at(-1) as Entry
    entry.packed += END_OF_DATA.length
    return this.#count(Buffer.concat([END_OF_DATA, fields([4, 0x08074b50], ...sizes(entry))]))
  }

  file(name: string, text: string): Uint8Array {
    return Buffer.concat([this.begin(name), this.add(Buffer.from(text)), this.finish()])
  }

  /** The directory of all files. */
  end(): Uint8Array {
    const start = this.#offset
    const listed = this.#entries.map((entry) =>
      Buffer.concat([
        fields(
          [4, 0x02014b50],
          [2, VERSION],
          ...common(entry),
          [2, 0],
          [2, 0],
          [2, 0],
          [2, 0],
          [4, 0],
          [4, entry.offset],
        ),
        entry.name,
      ]),
    )
    const directory = this.#count(Buffer.concat(listed))
    const count = this.#entries.length
    return Buffer.concat([
      directory,
      fields([4, 0x06054b50], [2, 0], [2, 0], [2, count], [2, count], [4, directory.length], [4, start], [2, 0]),
    ])
  }

  #count<Bytes extends Uint8Array>(bytes: Bytes): Bytes {
    this.#offset += bytes.length
    if (this.#offset > MAX_BYTES) throw new Error('It has more than 4 GB.')
    return bytes
  }
}

type SizedInteger = [bytes: 2 | 4, value: number]

/** What a file's header and its entry in the directory have in common. Before the data, the sizes are zero. */
const common = (entry: Entry): SizedInteger[] => [
  [2, VERSION],
  [2, FLAGS],
  [2, DEFLATED],
  [2, 0],
  [2, DAY],
  ...sizes(entry),
  [2, entry.name.length],
]

const sizes = ({ crc, packed, size }: Entry): SizedInteger[] => [
  [4, crc],
  [4, packed],
  [4, size],
]

function fields(...numbers: SizedInteger[]): Buffer {
  const target = Buffer.alloc(numbers.reduce((sum, [bytes]) => sum + bytes, 0))
  let at = 0
  for (const [bytes, value] of numbers) at = target.writeUIntLE(value, at, bytes)
  return target
}
