import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { createOffsetFinder, parseClockTime } from '../../src/lib/zoned-time.ts'
import { previewSheet } from '../../src/records/import/preview.ts'
import { WorkbookError } from '../../src/xlsx/read-book.ts'
import { readSheet, SheetFault } from '../../src/xlsx/read-sheet.ts'
import { dateKind, fromSerial, toSerial } from '../../src/xlsx/serial-dates.ts'
import { columnLetters, createWorkbook } from '../../src/xlsx/write-workbook.ts'
import { ZipWriter } from '../../src/xlsx/zip-writer.ts'
import { emptyFolder } from '../helper.ts'

/** The files of a workbook as other programs write them, each of which a test can replace. */
const PARTS: Record<string, string> = {
  '_rels/.rels':
    '<Relationships><Relationship Id="a" Type="x/officeDocument" Target="/book/main.xml"/><Relationship Id="b"/></Relationships>',
  'book/main.xml':
    '<x:workbook xmlns:x="m" xmlns:r="o"><x:workbookPr/><x:sheets><x:sheet name="Notes" state="hidden" r:id="s1"/><x:sheet name="People" r:id="s2"/></x:sheets></x:workbook>',
  'book/_rels/main.xml.rels':
    '<Relationships><Relationship Id="s1" Type="x/worksheet" Target="notes.xml"/><Relationship Id="s2" Type="x/worksheet" Target="people.xml"/><Relationship Id="t" Type="x/sharedStrings" Target="texts.xml"/><Relationship Id="f" Type="x/styles" Target="styles.xml"/></Relationships>',
  'book/notes.xml': '<worksheet><sheetData><row><c t="str"><v>not this</v></c></row></sheetData></worksheet>',
  'book/people.xml': '<worksheet><sheetData/></worksheet>',
  'book/texts.xml':
    '<sst><si><t>Ada</t></si><si><r><t>Bob </t></r><r><t>Müller</t></r><rPh><t>spoken</t></rPh></si><si><t>a_x000D_b</t></si></sst>',
  'book/styles.xml':
    '<styleSheet><numFmts><numFmt numFmtId="170" formatCode="yyyy\\-mm\\-dd &quot;at&quot; hh:mm"/></numFmts><cellStyleXfs><xf numFmtId="14"/></cellStyleXfs><cellXfs><xf/><xf numFmtId="14"/><xf numFmtId="170"/><xf numFmtId="21"/></cellXfs><cellStyles/></styleSheet>',
}

const sheet = (rows: string) => `<worksheet><sheetData>${rows}</sheetData></worksheet>`

function zipped(parts: Record<string, string | Uint8Array>): Buffer {
  const zip = new ZipWriter()
  const files = Object.entries(parts).flatMap(([name, content]) =>
    typeof content === 'string' ? [zip.file(name, content)] : [zip.begin(name), zip.add(content), zip.finish()],
  )
  return Buffer.concat([...files, zip.end()])
}

t.test('a workbook of another program', async (t) => {
  const folder = emptyFolder(t)
  let count = 0
  const rowsOf = async (bytes: Uint8Array, longest = 1000) => {
    const file = join(folder, `${++count}.xlsx`)
    writeFileSync(file, bytes)
    const rows = []
    for await (const { number, cells } of readSheet(file, {
      longest,
      limits: { texts: 1000, rows: 50, characters: 40_000, columns: 1000 },
      onBytes() {},
    }))
      rows.push([number, ...cells.map((cell) => (cell instanceof SheetFault ? { why: cell.why } : cell))])
    return rows
  }
  const rowsIn = (rows: string, parts: Record<string, string> = {}) =>
    rowsOf(zipped({ ...PARTS, 'book/people.xml': sheet(rows), ...parts }))
  const cell = async (xml: string, parts = {}) => (await rowsIn(`<row r="1">${xml}</row>`, parts))[0]?.[1]

  t.strictSame(
    await rowsIn('<row r="-5"><c><v>7</v></c></row><row r="abc"><c><v>8</v></c><c r="XFD1" s="1"/></row>'),
    [
      [1, '7'],
      [2, '8'],
    ],
    'rows count on, and a look far away is nothing',
  )
  t.strictSame(
    await rowsIn(
      '<row r="2"><c r="A2" t="s"><v>0</v></c><c r="C2" t="s"><v>1</v></c></row><row r="3"><c r="A3"/></row><row><c><v>1</v></c><c t="s"><v>2</v></c></row>',
    ),
    [
      [2, 'Ada', undefined, 'Bob Müller'],
      [4, '1', 'a\rb'],
    ],
    'rows and cells have numbers or follow each other; what is empty is not told',
  )
  const values: [xml: string, value: unknown][] = [
    ['<c><v>0.10000000000000001</v></c>', '0.1'],
    ['<c><v>12.50</v></c>', '12.50'],
    ['<c><v>1E-7</v></c>', '0.0000001'],
    ['<c><v>-1.5E-2</v></c>', '-0.015'],
    ['<c><v>-1.25E+22</v></c>', '-12500000000000000000000'],
    ['<c><v>1e400</v></c>', '1e400'],
    ['<c t="b"><v>TRUE</v></c>', 'true'],
    ['<c><v> </v></c>', undefined],
    ['<c><v>x</v></c>', 'x'],
    ['<c s="1"><v>45000</v></c>', '2023-03-15'],
    ['<c s="2"><v>45000</v></c>', '2023-03-15T00:00:00'],
    ['<c s="2"><v>45000.4375</v></c>', '2023-03-15T10:30:00'],
    ['<c s="3"><v>0.4375</v></c>', '10:30:00'],
    ['<c s="1"><v>-1</v></c>', '-1'],
    ['<c t="b"><v>1</v></c>', 'true'],
    ['<c t="b"><v>0</v></c>', 'false'],
    ['<c t="str"><f>A1</f><v>ready</v></c>', 'ready'],
    ['<c t="inlineStr"><is><t>one &amp; <![CDATA[two]]></t></is></c>', 'one & two'],
    ['<c t="inlineStr"><is><t/></is></c>', ''],
    ['<c t="d"><v>2026-01-02</v></c>', '2026-01-02'],
    ['<c><is><t>text</t></is></c>', 'text'],
    ['<c t="e"><v>#N/A</v></c>', { why: 'is an error of the spreadsheet, #N/A' }],
    ['<c t="s"><v>99</v></c>', { why: 'refers to a text that is not there' }],
    ['<c><f>A1</f></c>', { why: 'is a formula without a value. Open and save it in a spreadsheet' }],
  ]
  for (const [xml, value] of values) t.strictSame(await cell(xml), value, xml)
  const since1904 = {
    'book/main.xml': (PARTS['book/main.xml'] as string).replace('<x:workbookPr/>', '<x:workbookPr date1904="1"/>'),
  }
  t.equal(await cell('<c s="1"><v>1</v></c>', since1904), '1904-01-02')
  const { 'book/texts.xml': _, ...bare } = PARTS
  t.strictSame(await rowsOf(zipped({ ...bare, 'book/people.xml': sheet('<row><c><v>1</v></c></row>') })), [[1, '1']])

  const refused: [bytes: Uint8Array, message: RegExp, longest?: number][] = [
    [Buffer.from('a,b\n1,2\n'), /is no \.xlsx file, or is protected by a password/],
    [zipped({ 'a.txt': 'x' }), /there is no sheet in it/],
    [zipped(PARTS).subarray(0, 600), /is no \.xlsx file/],
    [
      zipped({ ...PARTS, 'book/people.xml': '<worksheet><row></worksheet>' }),
      /is not a valid spreadsheet: Unexpected close tag/,
    ],
    [zipped({ ...PARTS, 'book/people.xml': '<worksheet><row>' }), /is not a valid spreadsheet/],
    [zipped({ ...PARTS, 'book/people.xml': Buffer.from([0x3c, 0xff, 0xfe]) }), /is not a valid spreadsheet/],
    [zipped({ ...PARTS, 'book/people.xml': sheet('<row><c><v>&bomb;</v></c></row>') }), /is not a valid spreadsheet/],
    [zipped({ ...PARTS, 'book/people.xml': sheet('<row><c r="ZZZ1"><v>1</v></c></row>') }), /beyond column 1000/],
    [zipped({ ...PARTS, 'book/people.xml': sheet('<row><c r="1"><v>1</v></c></row>') }), /or in none: row 1/],
    [zipped({ ...PARTS, 'book/people.xml': sheet('<row/>'.repeat(51)) }), /more than 50 rows/],
    [
      zipped({ ...PARTS, 'book/people.xml': sheet(`<row>${'<c t="s"><v>0</v></c>'.repeat(500)}</row>`) }),
      /more than 1000 ch/,
    ],
    [
      zipped({ ...PARTS, 'book/people.xml': sheet(`<row><c t="str"><v>${'x'.repeat(900)}</v></c></row>`.repeat(50)) }),
      /too much text/,
    ],
    [zipped({ ...PARTS, 'book/people.xml': '<a>'.repeat(101) }), /nested too deeply/],
    [
      zipped({
        ...PARTS,
        'book/people.xml': `<a ${Array.from({ length: 101 }, (_, nth) => `x${nth}="1"`).join(' ')}/>`,
      }),
      /too many attributes/,
    ],
    [
      zipped({ ...PARTS, 'book/people.xml': sheet(`<row r="7"><c t="str"><v>${'x'.repeat(50)}</v></c></row>`) }),
      /a row of more than 20 characters: row 7/,
      20,
    ],
    [zipped({ ...PARTS, 'book/styles.xml': ' '.repeat(17_000_000) }), /book\/styles\.xml, which is too large/],
    [zipped({ ...PARTS, 'book/texts.xml': `<sst>${'<si/>'.repeat(101)}</sst>` }), /too many different texts/],
    [zipped(Object.fromEntries(Array.from({ length: 10_001 }, (_, nth) => [`f${nth}`, '']))), /more than 10000 files/],
  ]
  for (const [bytes, message, longest] of refused)
    await t.rejects(rowsOf(bytes, longest), Object.assign(new WorkbookError(), { message }), String(message))
  const damaged = zipped(PARTS)
  damaged.fill(0xff, damaged.indexOf('book/people.xml') + 15, damaged.indexOf('book/people.xml') + 40)
  await t.rejects(rowsOf(damaged), { message: /is not a whole spreadsheet/ })
  await t.rejects(
    readSheet(join(folder, 'none.xlsx'), { longest: 1, onBytes() {} }).next(),
    { code: 'ENOENT' },
    'a fault of the disk is none of the file',
  )
  await t.rejects(previewSheet({} as never, { file: join(folder, 'none.xlsx'), longest: 1 }), { code: 'ENOENT' })
  writeFileSync(
    join(folder, 'errors.xlsx'),
    zipped({ ...PARTS, 'book/people.xml': sheet('<row><c t="e"><v>#N/A</v></c></row>') }),
  )
  t.strictSame(await previewSheet({} as never, { file: join(folder, 'errors.xlsx'), longest: 9 }), {
    columns: [''],
    rows: [],
  })
  const full = createWorkbook('[All]: people/places', [{ title: 'n', width: 5 }], 3)
  const written = [
    full.pack(full.row([{ number: 1 }]) + full.row([{ number: 2 }]) + full.row([{ number: 3 }])),
    full.pack(full.row([{ number: 4 }])),
    full.pack(full.row([{ number: 5 }])),
    full.end(),
  ]
  const bytes = Buffer.concat(written)
  t.strictSame(
    await rowsOf(bytes),
    [
      [1, 'n'],
      [2, '1'],
      [3, '2'],
    ],
    'of more rows than a sheet can have, the others follow',
  )
  for (const name of ['sheet2.xml', 'sheet3.xml']) t.ok(bytes.includes(`xl/worksheets/${name}`))
  t.notOk(bytes.includes('sheet4.xml'))
  const long = createWorkbook('', [{ title: 'text', width: 5 }])
  const texts = [`\0\u0001_x0041_\r\n\t<&>"\uffff\ud800`, 'y'.repeat(40_000)]
  const rows = long.pack(texts.map((text) => long.row([{ text }])).join(''))
  const [, first, second] = await rowsOf(Buffer.concat([rows, long.end()]), 100_000)
  t.equal(first?.[1], '\0\u0001_x0041_\r\n\t<&>"\uffff\ufffd', 'what XML cannot have is kept')
  t.equal(String(second?.[1]).length, 32_767, 'a longer text is cut off')
})

t.test('dates of spreadsheets', async (t) => {
  t.equal(toSerial(Date.UTC(1900, 2, 1)), 61)
  t.equal(toSerial(Date.UTC(1900, 1, 28)), undefined, 'before the day that never was')
  t.equal(toSerial(Date.UTC(10_000, 0, 1)), undefined)
  t.equal(fromSerial(59, 'date'), '1900-02-28')
  t.equal(fromSerial(61, 'date'), '1900-03-01')
  t.equal(fromSerial(45_000.5, 'date'), '2023-03-15T12:00:00')
  t.equal(fromSerial(1.5, 'time'), '1899-12-31T12:00:00')
  t.equal(fromSerial(2_958_466, 'date'), undefined)
  const kinds: [code: string | undefined, id: number, kind: string | undefined][] = [
    [undefined, 14, 'date'],
    [undefined, 22, 'both'],
    [undefined, 20, 'time'],
    [undefined, 2, undefined],
    ['0.00', 170, undefined],
    ['"days" 0', 170, undefined],
    ['[Red]0', 170, undefined],
    ['[h]:mm', 170, 'time'],
    ['mmmm', 170, 'date'],
    ['d/m/yy h:mm', 170, 'both'],
    ['d/m/yy', 170, 'date'],
    ['['.repeat(60_000), 170, undefined],
  ]
  for (const [code, id, kind] of kinds) t.equal(dateKind(id, code), kind, code ?? String(id))
  t.strictSame([0, 25, 26, 701, 702].map(columnLetters), ['A', 'Z', 'AA', 'ZZ', 'AAA'])
})

t.test('clock times of a zone', async (t) => {
  const berlin = createOffsetFinder('Europe/Berlin')
  t.equal(berlin(Date.UTC(2026, 0, 1)), 3_600_000)
  t.equal(berlin(Date.UTC(2026, 6, 1)), 7_200_000)
  t.equal(berlin(Date.UTC(1890, 0, 1)), 3_208_000, 'before there were zones')
  t.equal(createOffsetFinder('UTC')(0), 0)
  for (let day = 0; day < 20_100; day++) berlin(day * 86_400_000 + Date.UTC(1973, 1))
  t.equal(berlin(Date.UTC(2026, 6, 1)), 7_200_000, 'also after many others')
  const moments: [text: string, moment: string | undefined][] = [
    ['2026-07-01T10:30', '2026-07-01T08:30:00.000Z'],
    ['2026-01-01 10:30:15', '2026-01-01T09:30:15.000Z'],
    ['2026-03-29T02:30', '2026-03-29T01:30:00.000Z'],
    ['2026-10-25T02:30', '2026-10-25T00:30:00.000Z'],
    ['2026-10-25T03:30', '2026-10-25T02:30:00.000Z'],
    ['2026-13-01T10:30', undefined],
    ['2026-02-30 10:00', undefined],
    ['2026-01-01 24:00', undefined],
    ['2026-07-01T10:30Z', undefined],
    ['2026-07-01', undefined],
  ]
  for (const [text, moment] of moments) t.equal(parseClockTime(text, berlin), moment, text)
})

t.test('a ZIP file cannot have more than 4 GB', async (t) => {
  const zip = new ZipWriter(4_294_967_250)
  zip.begin('a')
  t.throws(() => zip.add(Buffer.alloc(1000, 'ab')), { message: /4 GB/ })
  const other = new ZipWriter(0, 100)
  other.begin('a')
  t.throws(() => other.add(Buffer.alloc(1000)), { message: /4 GB/ }, 'nor any file in it')
})
