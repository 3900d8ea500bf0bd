import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { CompiledQuery } from 'kysely'
import t from 'tap'
import { compare, HELP, moveCommand } from '../../src/cli/move.ts'
import { addUser } from '../../src/people/users.ts'
import { openEvenUnfinished, openStorage } from '../../src/storage/open.ts'
import { createKyselyDatabase } from '../../src/storage/postgres/kysely.ts'
import { markUnfinished } from '../../src/storage/unfinished.ts'
import { insertRows, OWN_TABLES } from '../../src/tables/copy-tables.ts'
import { PASSWORD } from '../client.ts'
import { commandRunner, runScript } from '../commands.ts'
import { atShell, postgresDatabase } from '../engine.ts'
import { CONTACT, startApp, THING, writeModel } from '../helper.ts'
import { hasServer } from './run-on-postgres.ts'

const MODELS = {
  'contacts.Contact.json': CONTACT,
  'test.Thing.json': THING,
  'a.Line.json': {
    type: 'object',
    properties: { of: { type: 'integer', reference: 'contacts.Contact', onDelete: 'cascade' }, n: { type: 'integer' } },
  },
  'a.Gone.json': { type: 'object', properties: { text: { type: 'string' } } },
}

/** Tables of the service that are not copied, and why. */
const NOT_COPIED: Record<string, string> = {
  dossier_actor: 'holds the actor of the unit that is being written',
  dossier_counts: 'is counted again',
  dossier_drafts: 'is empty unless a table is being changed',
  dossier_marks: 'is empty unless a table is being changed',
  dossier_layout: 'describes the schema of this engine',
  dossier_models: 'is published again by the first start',
  dossier_secret: 'is copied by `setSigningKey`',
  dossier_state: 'is found out again from the journal',
  dossier_tables: 'is written when the tables are created',
  dossier_search: 'is filled again',
  dossier_unsearched: 'is about an index that is filled again',
  dossier_unsorted: 'is about sort keys, which are made again',
}

if (hasServer()) {
  t.test('a move copies every column of every own table', async (t) => {
    for (const DATABASE_URL of [undefined, await postgresDatabase(t)]) {
      const { storage } = await startApp(t, { env: DATABASE_URL ? { DATABASE_URL } : {} })
      const catalog = DATABASE_URL
        ? "SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public' AND tablename LIKE 'dossier\\_%'"
        : "SELECT name FROM sqlite_schema WHERE type = 'table' AND name LIKE 'dossier\\_%' ESCAPE '\\'"
      const names = ((await storage.read({ sql: catalog, parameters: [] })) as { name: string }[]).map(
        ({ name }) => name,
      )
      const copied = OWN_TABLES.map(({ table }) => table)
      t.strictSame(
        names.filter((name) => !copied.includes(name) && !NOT_COPIED[name]),
        [],
        'every table is copied, or has a reason',
      )
      for (const { table, columns } of OWN_TABLES) {
        const stored = (await storage.dialect.tables.readColumns(storage.db, table)).map(({ name }) => name)
        t.strictSame(stored.filter((name) => name !== 'rowid').sort(), columns.toSorted(), table)
      }
    }
  })

  t.test('everything goes to PostgreSQL, and back', async (t) => {
    const app = await startApp(t, { models: MODELS })
    const admin = await app.login()
    for (let nth = 0; nth < 5; nth++)
      await admin.put('/ws/rest/contacts.Contact', { firstName: `N${nth}`, email: `n${nth}@example.org` })
    await admin.put('/ws/rest/test.Thing', {
      count: 1,
      ratio: 0.25,
      done: true,
      tags: ['a'],
      price: '1.50',
      place: { city: 'x' },
    })
    for (let nth = 0; nth < 3; nth++) await admin.put('/ws/rest/a.Line', { of: 1, n: nth })
    await admin.put('/ws/rest/a.Gone', { text: 'kept' })
    await admin.post('/ws/rest/contacts.Contact/1', { version: 0, lastName: 'x' })
    await admin.delete('/ws/rest/contacts.Contact/5')
    await admin.put('/ws/users', { username: 'Bob', password: PASSWORD, roles: ['sales'] })
    // A field that is gone is kept, and so is a model without a file.
    const { email: _, ...properties } = CONTACT.properties
    writeModel(app.folder, 'contacts.Contact.json', { ...CONTACT, properties, list: ['fullName'] })
    rmSync(join(app.folder, 'models', 'a.Gone.json'))
    const { DATA_DIR, MODELS_DIR } = app.config
    const env = { DATA_DIR, MODELS_DIR }
    const url = await postgresDatabase(t)
    const move = (more: object, to: string) => commandRunner(HELP, moveCommand, { ...env, ...more })(`--to ${to}`)
    t.match(await move({}, url), { code: 1, err: /The service is running\. Stop it first/ })
    await app.close()
    t.match(await move({}, url), { code: 1, err: /not what the model files say/ })
    const again = await startApp(t, { folder: app.folder })
    const seen = async (running: typeof app, cookie: string | undefined) => {
      const client = Object.assign(await running.login(), { cookie })
      const paths = [
        'contacts.Contact',
        'test.Thing',
        'a.Line',
        'contacts.Contact/1/history',
        'contacts.Contact/deleted',
      ]
      const answers = [...paths.map((path) => `/ws/rest/${path}`), '/ws/changes', '/ws/users']
      return Promise.all(answers.map(async (path) => (await client.get(path)).text.replace(/"lastLogin":"[^"]+"/g, '')))
    }
    const before = await seen(again, admin.cookie)
    await again.close()
    const there = await postgresDatabase(t)
    t.match(await move({}, there), {
      code: 0,
      out: /^\d+ rows are copied and compared\. Start the service with this DATABASE_URL/,
    })
    t.match(await move({}, there), { code: 1, err: /There is something already/ })
    const long = Array.from({ length: 9000 }, (_, nth) => String.fromCharCode(0x4e00 + ((nth * 7919) % 20_000))).join(
      '',
    )
    await atShell(
      app.config,
      `INSERT INTO dossier_tokens (id, hash, username, name, "readOnly", "createdOn", expires) VALUES (77, '${long}', 'admin', 'x', 0, 0, 0)`,
    )
    const partly = await postgresDatabase(t)
    t.match(await move({}, partly), { code: 1, err: /dossier_tokens cannot be copied: index row/ })
    const refused = { message: /A move into this database was not finished/ }
    await t.rejects(openStorage({ ...app.config, DATABASE_URL: partly }), refused, 'a part of it is not served')
    await atShell(app.config, 'DELETE FROM dossier_tokens WHERE id = 77')
    t.match(await move({}, partly), { code: 0 }, 'and a move that was cut short starts over')
    const taken = { table: 'a__Line', columns: ['id'], rows: [], token: 'of another move' }
    const served = await openStorage({ ...app.config, DATABASE_URL: partly })
    await t.rejects(insertRows(served.db, taken), { message: /Another move into the same place/ })
    await served.close()
    await (await openStorage({ ...app.config, DATABASE_URL: partly })).close()
    t.match(await move({}, join(app.folder, 'other')), { code: 2, err: /One of the two places must be PostgreSQL/ })
    mkdirSync(join(app.folder, 'odd', 'dossier.db'), { recursive: true })
    t.match(await move({ DATA_DIR: join(app.folder, 'odd') }, url), { code: 1, err: /cannot be opened/ })
    t.match(await commandRunner(HELP, moveCommand, env)(''), { code: 2, err: /Say where to/ })
    t.match(await runScript('move.ts', ['--help'], {}), { code: 0, out: HELP })

    const moved = await startApp(t, { folder: app.folder, env: { DATABASE_URL: there } })
    t.strictSame(await seen(moved, admin.cookie), before, 'the session, too')
    const client = await moved.login('admin', PASSWORD)
    const { body } = await client.put('/ws/rest/contacts.Contact', { firstName: 'New' })
    t.equal(body.data[0].id, 6, 'an id that was given away is not given away again')
    await client.delete('/ws/rest/contacts.Contact/6')
    t.match((await client.get('/ws/rest/contacts.Contact')).body, { total: 4 })
    const after = await seen(moved, admin.cookie)
    t.match(await move({ DATABASE_URL: there }, join(app.folder, 'early')), { code: 1, err: /Stop all of its nodes/ })
    await moved.close()
    t.match(await move({ DATABASE_URL: 'postgres://127.0.0.1:1/none' }, join(app.folder, 'early')), { code: 1 })

    const folder = join(app.folder, 'back')
    const begun = await openEvenUnfinished({ DATA_DIR: folder })
    await markUnfinished(begun.db, 'somebody else’s')
    await addUser(begun, { username: 'half', roles: [] })
    await begun.db.executeQuery(CompiledQuery.raw('CREATE TABLE a__Half (id INTEGER PRIMARY KEY, version INTEGER)'))
    await begun.close()
    await t.rejects(openStorage({ DATA_DIR: folder }), refused)
    t.match(await move({ DATABASE_URL: there }, folder), { code: 0, out: /Start the service with DATA_DIR=/ })
    const back = await startApp(t, { folder: app.folder, env: { DATA_DIR: folder } })
    t.strictSame(await seen(back, admin.cookie), after)
    t.equal(
      (await (await back.login('admin', PASSWORD)).put('/ws/rest/contacts.Contact', { firstName: 'X' })).body.data[0]
        .id,
      7,
    )
    const lines = { table: 'a__Line', columns: ['id', 'n'], order: 'id', isNumbered: true }
    const wrong = createKyselyDatabase(async () => [{ id: 1, n: 99 }])
    await t.rejects(
      compare(back.db, { db: wrong }, [lines], () => {}),
      /a__Line is not the same after it was copied/,
    )
    t.match(await back.db.selectFrom('a__Gone').selectAll().execute(), [{ id: 1, text: 'kept' }])
    t.match(await back.db.selectFrom('contacts__Contact').select('email').where('id', '=', 1).execute(), [
      { email: 'n0@example.org' },
    ])
  })
}
