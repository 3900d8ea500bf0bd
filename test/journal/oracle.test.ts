import fc from 'fast-check'
import t from 'tap'
import { hasLoneEscape } from '../../src/lib/json-keys.ts'
import { type Client, PASSWORD } from '../client.ts'
import { startApp, writeModel } from '../helper.ts'

/**
 * Random things happen to records, beside an oracle that remembers every state; then the history must tell the same.
 */

const LIST = { list: { type: 'array' } }
const child = (more: object) => ({
  type: 'object',
  properties: {
    text: { type: 'string' },
    whole: { type: 'integer' },
    ratio: { type: 'number' },
    flag: { type: 'boolean' },
    ...more,
    label: { type: 'string', computed: '{text}/{whole}/{ratio}/{flag}' },
    cleared: { type: 'integer', reference: 'a.Parent', onDelete: 'clear' },
    owner: { type: 'integer', reference: 'a.Parent', onDelete: 'cascade' },
  },
})
const MODELS = {
  'a.Parent.json': { type: 'object', properties: { name: { type: 'string' } } },
  'a.Child.json': child(LIST),
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
  // One field leaves the file, or comes back to it.
  { arbitrary: fc.record({ do: fc.constant('away' as const) }), weight: 1 },
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
  let keys = 0
  const read = async (id: number): Promise<Data | undefined> => (await admin.get(`${CHILD}/${id}`)).body.data?.[0]

  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 25 }), async (steps) => {
      const parents: number[] = []
      for (let nth = 0; nth < 4; nth++)
        parents.push((await admin.put('/ws/rest/a.Parent', { name: 'p' })).body.data[0].id)
      const children: Known[] = []
      let isAway = false
      const serve = async (away: boolean) => {
        if (isAway === away) return
        isAway = away
        writeModel(app.folder, 'a.Child.json', child(away ? {} : LIST))
        await app.service.reload()
      }
      /** What can be sent again: it must be answered in the same way, whatever has happened since. */
      const sent: { client: Client; words: Parameters<Client['send']>; text: string }[] = []
      const write = async (client: Client, method: string, path: string, body?: object) => {
        const words: Parameters<Client['send']> = [method, path, body, { 'idempotency-key': `key ${++keys}` }]
        const answer = await client.send(...words)
        if (answer.status === 200 && !isAway) sent.push({ client, words, text: answer.text })
        return answer
      }
      const note = async (child: Known, operation: string, from: Data = {}) => {
        const now = await read(child.id)
        // What is away is kept as it was; of a record that comes back, as it was then.
        if (now && isAway) now.list = (child.isThere ? child.states.at(-1) : from)?.list ?? null
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
        if (one.do === 'away') {
          await serve(!isAway)
          continue
        }
        if (isAway && 'data' in one) delete one.data.list
        if (one.do === 'create') {
          const given = {
            ...one.data,
            cleared: parents.slice(0, 2)[one.cleared % 3] ?? null,
            owner: parents.slice(2)[one.owner % 4] ?? null,
          }
          const { body } = await write(client, 'PUT', CHILD, { data: given })
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
          const { status } = await write(client, 'DELETE', `${CHILD}/${child.id}`)
          t.equal(status, child.isThere ? 200 : 404)
          if (child.isThere) await note(child, 'delete')
        } else if (one.do === 'restore') {
          const to = one.to % (last + 1)
          const { status, body } = await write(client, 'POST', `${CHILD}/${child.id}/restore`, {
            data: child.isThere ? { version: last, to } : { to },
          })
          if (status === 409) t.equal(body.code, 'REFERENCE_VIOLATION')
          else {
            t.equal(status, 200)
            const { list, ...state } = withoutStamp(child.states[to] as Data)
            t.strictSame(withoutStamp(body.data[0]), isAway ? state : { ...state, list })
            t.equal(body.data[0].version, last + 1)
            await note(child, 'restore', { list })
          }
        } else {
          const since = Math.max(0, last - one.back)
          const { status, body } = await write(client, 'POST', `${CHILD}/${child.id}`, {
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
            if (one.merge) t.ok(changed.every((name) => body.merged.includes(name) || (isAway && name === 'list')))
            await note(child, 'update')
            t.match(child.states[last + 1], { ...one.data, updatedBy: turn % 2 ? 'admin' : 'ann' })
          } else if (status === 409) {
            t.ok(clashes.every((name) => body.conflict.clashes.includes(name)))
            for (const name of changed.filter((one) => !isAway || one !== 'list'))
              t.match(body.conflict.fields[name], { theirs: current[name], base: base[name] })
          } else t.fail(String(status))
        }
      }
      await serve(false)
      for (const { client, words, text } of sent) t.equal((await client.send(...words)).text, text, words.join(' '))
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
    { seed: 13, numRuns: 6 },
  )
})

const withoutStamp = ({ updatedOn: _, updatedBy: __, version: ___, ...rest }: Data) => rest

const isSame = (a: unknown, b: unknown) => JSON.stringify(a ?? null) === JSON.stringify(b ?? null)
