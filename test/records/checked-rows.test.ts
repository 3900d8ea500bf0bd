import { statSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import type { ValidRow } from '../../src/records/import/check-block.ts'
import { CheckedRowWriter, readCheckedRows } from '../../src/records/import/checked-rows.ts'
import { emptyFolder } from '../helper.ts'

async function writtenTo(file: string, rows: ValidRow[]): Promise<void> {
  const checked = new CheckedRowWriter(file)
  for (let from = 0; from < rows.length; from += 250) await checked.write(rows.slice(from, from + 250))
  await checked.close()
}

async function readFrom(file: string, before = 0) {
  const rows = []
  for await (const { row } of readCheckedRows(file, before)) rows.push(row)
  return rows
}

t.test('rows come back as they were found', async (t) => {
  const file = join(emptyFolder(t), 'checked')
  const rows: ValidRow[] = [
    { line: 2, kind: 'created', data: { text: 'a\nb' } },
    { line: 4, kind: 'created', data: {} },
    { line: 5, kind: 'updated', data: { n: 1 }, id: 7, version: 3, isStrict: true },
    { line: 6, kind: 'unchanged', data: {} },
  ]
  await writtenTo(file, rows)
  t.strictSame(
    await readFrom(file, 10),
    rows.map((row, index) => ({ ...row, number: 11 + index })),
  )
  await writtenTo(file, [])
  t.strictSame(await readFrom(file), [])
})

t.test('it takes no more room than what was uploaded, however small the rows', async (t) => {
  const file = join(emptyFolder(t), 'checked')
  let seed = 1
  const random = () => {
    seed = (seed * 48_271) % 2_147_483_647
    return seed
  }
  for (const [what, make] of [
    ['a digit', (n: number) => ({ line: n + 2, kind: 'created', data: { n: random() % 10 } })],
    ['a key', (n: number) => ({ line: n + 2, kind: 'updated', data: { k: n, x: 'y' }, id: n, version: random() % 9 })],
    [
      'many empty cells',
      (n: number) => ({
        line: n + 2,
        kind: 'created',
        data: Object.fromEntries(Array.from({ length: 50 }, (_, c) => [`column${c}`, null])),
      }),
    ],
  ] as [string, (n: number) => ValidRow][]) {
    const rows = Array.from({ length: 20_000 }, (_, n) => make(n))
    await writtenTo(file, rows)
    const upload = rows.reduce(
      (sum, { data }) =>
        sum +
        Object.values(data)
          .map((value) => value ?? '')
          .join().length +
        1,
      0,
    )
    const { size } = statSync(file)
    t.ok(size <= upload * 1.5, `${what}: ${size} bytes for an upload of ${upload}`)
    t.equal((await readFrom(file)).length, 20_000)
  }
})

t.test('a full disk says so', async (t) => {
  const rows = Array.from(
    { length: 1000 },
    (_, line): ValidRow => ({ line, kind: 'created', data: { x: Math.random() } }),
  )
  const full = { name: 'StorageFault', kind: 'full' } as unknown as Error
  await t.rejects(writtenTo('/dev/full', rows), full)
  const checked = new CheckedRowWriter('/dev/full')
  const writing = (async () => {
    for (let n = 0; n < 10_000; n++) await checked.write(rows)
  })()
  await t.rejects(writing, full)
  await t.rejects(new CheckedRowWriter('/nowhere/x').close(), { code: 'ENOENT' })
})
