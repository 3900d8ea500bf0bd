import { sql } from 'kysely'
import t from 'tap'
import { migrateTo, modelOf, testStorage } from '../helper.ts'

t.test('computed: null parts vanish with the spaces around them', async (t) => {
  const storage = await testStorage(t)
  const { db } = storage
  const parts = {
    a: { type: 'string' },
    b: { type: 'string' },
    c: { type: 'string' },
    n: { type: 'number' },
    i: { type: 'integer' },
    f: { type: 'boolean' },
  }
  const templates: Record<string, string> = {
    names: '{a} {b} {c}',
    comma: '{a}, {b}',
    titled: "Dr. {a} O'{b}",
    brackets: '({a}) {b}',
    numbers: '{n}/{i}/{f}',
    glued: '{a}{b}',
    spaced: 'x  {a}  y',
  }
  const computed = Object.fromEntries(
    Object.entries(templates).map(([name, template]) => [name, { type: 'string', computed: template }]),
  )
  await migrateTo(storage, [modelOf('a.B', { type: 'object', properties: { ...parts, ...computed } })])
  const scenarios: [row: object, expected: Record<string, string | null>][] = [
    [
      { a: 'A', b: 'B', c: 'C' },
      {
        names: 'A B C',
        comma: 'A, B',
        titled: "Dr. A O'B",
        brackets: '(A) B',
        glued: 'AB',
        spaced: 'x  A  y',
        numbers: null,
      },
    ],
    [
      { a: 'A', c: 'C' },
      { names: 'A C', comma: 'A,', titled: "Dr. A O'", brackets: '(A)', glued: 'A' },
    ],
    [
      { b: 'B', c: 'C' },
      { names: 'B C', comma: ', B', titled: "Dr. O'B", glued: 'B', spaced: null },
    ],
    [{ a: '', b: 'B' }, { names: 'B' }],
    [{}, { names: null, comma: null, titled: null, brackets: null, numbers: null, glued: null, spaced: null }],
    [{ n: 5, i: 0, f: 1 }, { numbers: '5/0/true' }],
    [{ n: 0.1, f: 0 }, { numbers: '0.1//false' }],
  ]
  for (const [row, expected] of scenarios) {
    await sql`DELETE FROM a__B`.execute(db)
    await db
      .insertInto('a__B')
      .values({ version: 0, ...row })
      .execute()
    t.match(await db.selectFrom('a__B').selectAll().executeTakeFirst(), expected, JSON.stringify(row))
  }
})
