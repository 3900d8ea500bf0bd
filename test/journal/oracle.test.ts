import fc from 'fast-check'
import t from 'tap'
import { hasLoneEscape } from '../../src/lib/json-keys.ts'
import { type Client, PASSWORD, startApp } from '../helper.ts'

/** Random things happen to records, beside an oracle that remembers every state; then the history must tell the same. */

const MODELS = {
  'a.Parent.json': { type: 'object', properties: { name: { type: 'string' } } },
  'a.Child.json': {
    type: 'object',
    properties: {
      text: { type: 'string' },
      whole: { type: 'integer' },
      ratio: { type: 'number' },
      flag: { type: 'boolean' },
      list: { type: 'array' },
      label: { type: 'string', computed: '{text}/{whole}/{ratio}/{flag}' },
      cleared: { type: 'integer', reference: 'a.Parent', onDelete: 'clear' },
      owner: { type: 'integer', reference: 'a.Parent', onDelete: 'cascade' },
    },
  },
}

const value = {
  text: fc.option(fc.string({ unit: 'grapheme', maxLength: 5 }).filter((text) => !text.includes('\0'))),
  whole: fc.option(fc.maxSafeInteger()),
  ratio: fc.option(fc.double({ noNaN: true, noDefaultInfinity: true })),
  flag: fc.option(fc.boolean()),
  list: fc.option(
    fc.array(fc.jsonValue({ maxDepth: 1 }), { maxLength: 2 }).filter((one) => !hasLoneEscape(JSON.stringify(one))),
  ),
}
const some = fc.record(value, { requiredKeys: [] })
const pick = fc.nat({ max: 50 })
const step = fc.oneof(
  { arbitrary: fc.record({ do: fc.constant('create' as const), data: some, cleared: pick, owner: pick }), weight: 2 },
  {
    arbitrary: fc.record({
      do: fc.constant('update' as const),
      at: pick,
      back: fc.nat({ max: 3 }),
      data: some,
      merge: fc.boolean(),
    }),
    weight: 6,
  },
  { arbitrary: fc.record({ do: fc.constant('delete' as const), at: pick }), weight: 1 },
  { arbitrary: fc.record({ do: fc.constant('deleteParent' as const), at: pick }), weight: 1 },
  { arbitrary: fc.record({ do: fc.constant('restore' as const), at: pick, to: pick }), weight: 2 },
)

type Data = Record<string, unknown>
interface Known {
  id: number
  /** by version */
  states: Data[]
  /** by version, what was not left alone */
  touched: string[][]
  isThere: boolean
  operations: string[]
}

t.test('history is what happened', async (t) => {
  const app = await startApp(t, { models: MODELS })
  const admin = await app.login()
  await admin.put('/ws/users', { username: 'ann', password: PASSWORD, roles: [] })
  const people = [admin, await app.login('ann')]
  const CHILD = '/ws/rest/a.Child'
  const read = async (id: number): Promise<Data | undefined> => (await admin.get(`${CHILD}/${id}`)).body.data?.[0]

  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 25 }), async (steps) => {
      const parents: number[] = []
      for (let nth = 0; nth < 4; nth++)
        parents.push((await admin.put('/ws/rest/a.Parent', { name: 'p' })).body.data[0].id)
      const children: Known[] = []
      const note = async (child: Known, operation: string) => {
        const now = await read(child.id)
        if (now) {
          const version = now.version as number
          const before = child.states[version - 1] ?? {}
          child.states[version] = now
          child.touched[version] = Object.keys(value).filter((name) =>
            child.isThere ? !isSame(before[name], now[name]) : (before[name] ?? now[name]) !== null,
          )
        }
        child.isThere = now !== undefined
        child.operations.unshift(operation)
      }
      let turn = 0
      for (const one of steps) {
        const client = people[turn++ % 2] as Client
        if (one.do === 'create') {
          const given = {
            ...one.data,
            cleared: parents.slice(0, 2)[one.cleared % 3] ?? null,
            owner: parents.slice(2)[one.owner % 4] ?? null,
          }
          const { body } = await client.put(CHILD, given)
          const child: Known = { id: body.data[0].id, states: [], touched: [], isThere: true, operations: [] }
          children.push(child)
          await note(child, 'create')
          continue
        }
        if (one.do === 'deleteParent') {
          const id = parents[one.at % parents.length]
          const touched = children.filter(
            ({ isThere, states }) => isThere && (states.at(-1)?.cleared === id || states.at(-1)?.owner === id),
          )
          await client.delete(`/ws/rest/a.Parent/${id}`)
          parents.splice(
            parents.indexOf(id as number),
            1,
            (await admin.put('/ws/rest/a.Parent', { name: 'p' })).body.data[0].id,
          )
          for (const child of touched) await note(child, child.states.at(-1)?.cleared === id ? 'update' : 'delete')
          continue
        }
        const child = children[one.at % Math.max(1, children.length)]
        if (!child) continue
        const last = child.states.length - 1
        if (one.do === 'delete') {
          const { status } = await client.delete(`${CHILD}/${child.id}`)
          t.equal(status, child.isThere ? 200 : 404)
          if (child.isThere) await note(child, 'delete')
        } else if (one.do === 'restore') {
          const to = one.to % (last + 1)
          const { status, body } = await client.post(
            `${CHILD}/${child.id}/restore`,
            child.isThere ? { version: last, to } : { to },
          )
          if (status === 409) t.equal(body.code, 'REFERENCE_VIOLATION')
          else {
            t.equal(status, 200)
            t.strictSame(withoutStamp(body.data[0]), withoutStamp(child.states[to] as Data))
            t.equal(body.data[0].version, last + 1)
            await note(child, 'restore')
          }
        } else {
          const since = Math.max(0, last - one.back)
          const { status, body } = await client.send('POST', `${CHILD}/${child.id}`, {
            data: { version: since, ...one.data },
            merge: one.merge,
          })
          if (!child.isThere) {
            t.equal(status, 404)
            continue
          }
          const [base, current] = [child.states[since] as Data, child.states[last] as Data]
          // A field may have changed and come back: then it counts as changed.
          const changed = Object.keys(value).filter((name) =>
            child.touched.slice(since + 1).some((names) => names.includes(name)),
          )
          const clashes = changed.filter(
            (name) => name in one.data && !isSame(one.data[name as keyof typeof value], current[name]),
          )
          if (since === last || (one.merge && clashes.length === 0)) {
            t.equal(status, 200)
            if (one.merge) t.ok(changed.every((name) => body.merged.includes(name)))
            await note(child, 'update')
            t.match(child.states[last + 1], { ...one.data, updatedBy: turn % 2 ? 'admin' : 'ann' })
          } else if (status === 409) {
            t.ok(clashes.every((name) => body.conflict.clashes.includes(name)))
            for (const name of changed) t.match(body.conflict.fields[name], { theirs: current[name], base: base[name] })
          } else t.fail(String(status))
        }
      }
      for (const { id, states, operations, isThere } of children) {
        const { body } = await admin.get(`${CHILD}/${id}/history?limit=500`)
        t.strictSame(
          body.data.map(({ operation }: { operation: string }) => operation),
          operations,
        )
        for (const [version, state] of states.entries())
          t.strictSame((await admin.get(`${CHILD}/${id}?version=${version}`)).body.data, [state])
        t.equal((await admin.get(`${CHILD}/${id}`)).status, isThere ? 200 : 404)
      }
      const deleted = (await admin.get(`${CHILD}/deleted?limit=500`)).body.data.map(({ id }: Data) => id)
      t.ok(children.every(({ id, isThere }) => deleted.includes(id) !== isThere))
    }),
    { seed: 13, numRuns: 12 },
  )
})

const withoutStamp = ({ updatedOn: _, updatedBy: __, version: ___, ...rest }: Data) => rest

const isSame = (a: unknown, b: unknown) => JSON.stringify(a ?? null) === JSON.stringify(b ?? null)
