import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { scrub } from '../../src/upkeep/scrub.ts'
import { PASSWORD } from '../client.ts'
import { startApp, writeModel } from '../helper.ts'

const text = { type: 'string' }
const thing = (properties: object) => ({ type: 'object', properties: { name: text, ...properties } })
/** One field of each kind of column. */
const AWAY = {
  note: text,
  count: { type: 'integer' },
  ratio: { type: 'number' },
  done: { type: 'boolean' },
  tags: { type: 'array', items: text },
  place: { type: 'object', properties: { city: text } },
  day: { type: 'string', format: 'date' },
}
const VALUES = { note: 'n', count: 3, ratio: 0.5, done: true, tags: ['a'], place: { city: 'Oslo' }, day: '2026-01-02' }

t.test('what is hidden', async (t) => {
  const app = await startApp(t, { models: {} })
  const admin = await app.login()
  let count = 0

  /** Serves a new model, and no other. */
  async function withThings(properties: object) {
    const name = `a.Thing${++count}`
    const things = `/ws/rest/${name}`
    const serve = async (next: object) => {
      writeModel(app.folder, `${name}.json`, thing(next))
      await app.service.reload()
      const { models } = (await admin.get('/health')).body.data[0]
      if (!models.current) throw new Error(JSON.stringify(models))
    }
    rmSync(join(app.folder, `models/a.Thing${count - 1}.json`), { force: true })
    await serve(properties)
    const one = async (query = '', id = 1) => (await admin.get(`${things}/${id}${query}`)).body.data?.[0]
    return { things, table: `"a__Thing${count}"`, serve, one }
  }

  await t.test('fields that are away for a while: the past is complete when they are back', async (t) => {
    const { things, serve, one } = await withThings(AWAY)
    for (const name of ['updated', 'deleted', 'restored']) await admin.put(things, { name, ...VALUES })
    await admin.post(`${things}/1`, { version: 0, note: 'second' })
    await serve({})
    // Past the version at which a record is written down as a whole.
    for (let version = 1; version < 70; version++) await admin.post(`${things}/1`, { version, name: `v${version + 1}` })
    await admin.delete(`${things}/2`)
    await admin.delete(`${things}/3`)
    t.match(await admin.post(`${things}/3/restore`, {}), { status: 200 })
    t.match(await admin.post(`${things}/1/restore`, { version: 70, to: 3 }), { status: 200 })
    await serve(AWAY)

    t.match(await one('?version=0'), { ...VALUES, name: 'updated' })
    t.match(await one('?version=3'), { ...VALUES, note: 'second', name: 'v3' })
    t.match(await one(), { ...VALUES, note: 'second', name: 'v3', version: 71 })
    t.match(await admin.post(`${things}/1/restore`, { version: 71, to: 0 }), { status: 200 })
    t.match(await one(), { ...VALUES, name: 'updated', version: 72 })
    t.match(await one('', 3), { ...VALUES, name: 'restored' }, 'what was brought back meanwhile has all of it')
    t.match(await admin.post(`${things}/2/restore`, {}), { status: 200 })
    t.match(await one('', 2), { ...VALUES, name: 'deleted' }, 'and what was deleted meanwhile')
  })

  await t.test('what comes back has the types of the columns of now', async (t) => {
    const { things, serve, one } = await withThings({
      count: { type: 'integer' },
      note: text,
      odd: text,
      flag: { type: 'boolean' },
      list: { type: 'array' },
      unset: text,
    })
    const values = { count: 7, note: '12', odd: 'no number', flag: true, list: ['a'], unset: null }
    await admin.put(things, { name: 'x', ...values })
    await admin.post(`${things}/1`, { version: 0, count: null, note: null, odd: null, flag: null, list: null })
    const others = {
      unset: text,
      count: text,
      note: { type: 'integer' },
      odd: { type: 'string', format: 'decimal' },
      flag: { type: 'integer' },
      list: { type: 'object' },
    }
    await serve(others)
    await serve({})
    await admin.delete(`${things}/1`)
    t.match(await admin.post(`${things}/1/restore`, { to: 0 }), { status: 200 })
    await serve(others)
    const expected = { name: 'x', count: '7', note: 12, odd: null, flag: 1, list: null }
    t.match(await one(), expected, 'converted where nothing is lost by that')
  })

  await t.test('once a secret, always hidden', async (t) => {
    const secret = { pin: { ...text, writeOnly: true } }
    const { things, serve } = await withThings({ pin: text })
    const everything = async (more: string[]) => {
      const paths = [
        things,
        `${things}/1`,
        `${things}/1?version=0`,
        `${things}/1?version=64`,
        `${things}/1/history?limit=500`,
        `${things}/2/history`,
        `${things}/deleted`,
        '/ws/changes?limit=1000',
        ...more,
      ]
      const answers = []
      for (const path of paths)
        answers.push(await (await fetch(admin.url + path, { headers: { cookie: admin.cookie as string } })).text())
      return answers.join('\n')
    }
    const isShown = async (...more: string[]) => /1234|5678/.test(await everything(more))
    const file = `${things}/export?format=ndjson`
    await admin.put(things, { name: 'x', pin: '1234' })
    await admin.put(things, { name: 'deleted', pin: '1234' })
    for (let version = 0; version < 66; version++)
      await admin.post(`${things}/1`, { version, name: `v${version}`, pin: '5678' })
    await admin.delete(`${things}/2`)
    t.ok(await isShown())
    await serve(secret)
    t.notOk(await isShown(file), 'from the commit on')
    await serve({})
    t.notOk(await isShown(file), 'also when its field has left the file')
    await admin.post(`${things}/1`, { version: 66, name: 'meanwhile' })
    await admin.delete(`${things}/1`)
    t.notOk(await isShown(), 'and the record is deleted')
    await serve({ other: text })
    await scrub(app.storage)
    const rows = await app.storage.read({
      sql: 'SELECT fields, was, became, whole FROM dossier_changes',
      parameters: [],
    })
    t.notMatch(JSON.stringify(rows), /1234|5678/, 'it is taken out all the same')
    await admin.put(things, { name: 'again' })
    await serve({ pin: text })
    t.notOk(await isShown(), 'what was secret stays so when the field is open again')
    await admin.put(things, { name: 'new', pin: '5678' })
    t.ok(await isShown(), 'but not what is written from then on')
    await serve({ code: { ...text, renamedFrom: 'pin', writeOnly: true } })
    t.notOk(await isShown(file), 'renamed')
    await serve({ code: text })
    t.ok(await isShown(), 'the value of now is the file’s to say')
    const history = (await admin.get(`${things}/1/history?limit=500`)).text
    t.notMatch(history, /1234|5678/)
  })

  await t.test('a secret whose name another field has taken since', async (t) => {
    const { things, table, serve } = await withThings({ pin: text, other: text })
    await admin.put(things, { name: 'x', pin: '1234', other: 'o' })
    await serve({ pin: { ...text, writeOnly: true }, other: text })
    await serve({ other: text })
    await admin.put('/ws/users', { username: 'reader', password: PASSWORD, roles: [] })
    const reader = await app.login('reader')
    const history = async () => (await reader.get(`${things}/1/history`)).text
    t.notMatch(await history(), /1234/)
    await app.storage.write({ steps: [{ sql: `UPDATE ${table} SET pin = NULL`, parameters: [] }] })
    await serve({ pin: { ...text, renamedFrom: 'other' } })
    await sleep(0)
    t.notMatch(await history(), /1234/, 'it is called otherwise now, and is still a secret')
    t.match(await history(), /"o"/, 'while the other field’s values are shown')
    await scrub(app.storage)
    t.match(await history(), /"o"/)
  })

  await t.test('what a field held while it was a secret is not known when it is open again', async (t) => {
    const { things, serve, one } = await withThings({ pin: text })
    await admin.put(things, { name: 'x', pin: 'FIRST' })
    await serve({ pin: { ...text, writeOnly: true } })
    await admin.post(`${things}/1`, { version: 0, pin: 'SECOND' })
    await serve({ pin: text })
    await admin.post(`${things}/1`, { version: 1, pin: 'THIRD', name: 'y' })
    t.match(await one('?version=1'), { pin: 'SECOND' }, 'what it was when it was opened could be read')
    t.match(await one('?version=0'), { pin: null })
    t.match(await admin.post(`${things}/1/restore`, { version: 2, to: 0 }), { status: 200 })
    t.match(await one(), { name: 'x', pin: 'THIRD' }, 'and a restore leaves it alone')
  })

  await t.test('secrets that have left the file under an earlier version', async (t) => {
    const { things, serve } = await withThings({
      pin: { ...text, writeOnly: true },
      old: { ...text, writeOnly: true },
      note: text,
      quiet: text,
    })
    await admin.put(things, { name: 'x', pin: 'TOPSECRET', old: 'TOPSECRET', note: 'plain' })
    await serve({ pin: { ...text, writeOnly: true, renamedFrom: 'old' }, note: text, quiet: text }).catch(() => {})
    await serve({
      pin: { ...text, writeOnly: true },
      code: { ...text, writeOnly: true, renamedFrom: 'old' },
      note: text,
      quiet: text,
    })
    await serve({})
    // As that version left it.
    for (const table of ['dossier_secrets', 'dossier_state'])
      await app.storage.write({ steps: [{ sql: `DELETE FROM ${table}`, parameters: [] }] })
    await serve({ other: text })
    await admin.delete(`${things}/1`)
    const { text: history } = await admin.get(`${things}/1/history`)
    t.notMatch(history, /TOPSECRET/)
    t.match(history, /"note":\{"from":"plain"/, 'what was none is written down')
  })
})
