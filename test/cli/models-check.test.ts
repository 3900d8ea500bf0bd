import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import Sqlite from 'better-sqlite3'
import t from 'tap'
import { HELP, modelsCheck } from '../../src/cli/models-check.ts'
import { commandRunner, runScript } from '../commands.ts'
import { CONTACT, makeFolder, startApp, writeModel } from '../helper.ts'

t.test('what would happen, before anything does', async (t) => {
  const folder = makeFolder(t)
  const env = { MODELS_DIR: join(folder, 'models'), DATA_DIR: join(folder, 'data') }
  const check = (words = '', more: Record<string, string> = {}, terminal = false) =>
    commandRunner(HELP, modelsCheck, { ...env, ...more })(words, '', terminal)
  t.match(await check(), {
    code: 0,
    out: /^contacts\.Contact\n {2}will {5}create the table\n {2}will {5}make email unique\n {2}will {5}index email\n {2}access {3}read, create, update, delete: everybody logged in\n$/,
  })
  t.notOk(existsSync(join(folder, 'data')), 'nothing was made')

  const running = await startApp(t, { folder })
  const client = await running.login()
  for (const [firstName, lastName] of [
    ['Ada', '1'],
    ['A name that is rather long', 'x'],
  ])
    await client.put('/ws/rest/contacts.Contact', { firstName, lastName })
  t.match(await runScript('models-check.ts', [], env), {
    code: 0,
    out: /^contacts\.Contact: nothing to do\n {2}access/,
  })

  const { email, ...properties } = CONTACT.properties
  const changed = {
    ...CONTACT,
    properties: {
      ...properties,
      firstName: { type: 'string', maxLength: 5 },
      lastName: { type: 'integer' },
      note: { type: 'string' },
    },
    list: [],
  }
  writeModel(folder, 'contacts.Contact.json', changed)
  writeModel(folder, 'notes.Note.json', { type: 'object', properties: { x: { type: 'string' } } })
  const found = await check()
  t.equal(found.code, 1)
  t.match(found.out, /will {5}convert lastName from TEXT to INTEGER \(2 records\)/)
  t.match(found.out, /refused {2}"lastName" cannot become integer without loss in the records 2\./)
  t.match(found.out, /hidden {3}email has no field; its data stays/)
  t.match(found.out, /note {5}1 stored records break the rules of firstName/)
  t.match(found.out, /notes\.Note\n {2}will {5}create the table/)
  const json = JSON.parse((await check('--json')).out)
  t.match(json, {
    faults: [],
    models: [{ model: 'contacts.Contact', refusals: [/loss/], hidden: ['email'], broken: { firstName: 1 } }, {}],
  })
  t.ok((await check('', {}, true)).out.includes('\u001b[31mrefused'), 'colours where they show')
  t.equal((await client.get('/ws/rest/contacts.Contact')).body.total, 2, 'the service runs on, nothing has changed')

  writeModel(folder, 'notes.Note.json', '{"type": "object", "properties": {"x": {"type": "strin"}}}')
  t.match(await check(), { code: 1, out: /^fault {2}notes\.Note\.json \/properties\/x\/type: must be one of string/ })
  t.match(JSON.parse((await check('--json')).out), {
    faults: [{ file: 'notes.Note.json', pointer: '/properties/x/type' }],
  })
  t.match(await check('--jsn'), { code: 2, err: /Unknown option '--jsn'/ })
  t.match(await check('a b'), { code: 2, err: /Name one folder, or none/ })
  t.match(await check('', { MODELS_DIR: join(folder, 'data', 'dossier.db') }), {
    code: 1,
    out: /models folder cannot be read: ENOTDIR/,
  })
  writeFileSync(join(folder, 'dossier.db'), 'not a database at all'.repeat(100))
  rmSync(join(folder, 'models', 'notes.Note.json'))
  t.match(await check('', { DATA_DIR: folder }), { code: 1, err: /is damaged/ })
  t.match(await check('--help'), { code: 0, out: /^Usage/ })
})

t.test('many records, and some that lack what is required', async (t) => {
  const empty = { type: 'object', properties: { x: { type: 'string' } } }
  const folder = makeFolder(t, { 'contacts.Contact.json': CONTACT, 'notes.Empty.json': empty })
  const running = await startApp(t, { folder })
  const rows = Array.from({ length: 1500 }, (_, i) => ({ firstName: i % 3 === 0 ? null : 'x' }))
  for (let i = 0; i < rows.length; i += 500)
    await running.db
      .insertInto('contacts__Contact')
      .values(rows.slice(i, i + 500))
      .execute()
  const withMore = {
    ...CONTACT,
    properties: { ...CONTACT.properties, must: { type: 'string', default: 'x' } },
    required: ['firstName', 'must'],
  }
  writeModel(folder, 'contacts.Contact.json', withMore)
  const { out } = await commandRunner(HELP, modelsCheck, {
    MODELS_DIR: join(folder, 'models'),
    DATA_DIR: join(folder, 'data'),
  })('--json')
  t.match(JSON.parse(out).models, [{ broken: { firstName: 500 } }])
  t.notOk('must' in JSON.parse(out).models[0].broken, 'what is still to be added breaks no rule')
})

t.test('a model whose file is gone, and values that are no documents', async (t) => {
  const folder = makeFolder(t, {
    'a.Gone.json': { type: 'object', properties: { x: { type: 'string' } } },
    'a.Here.json': { type: 'object', audit: false, properties: { x: { type: 'string', maxLength: 3 } } },
  })
  const running = await startApp(t, { folder })
  const client = await running.login()
  for (const x of ['a', 'b']) await client.put('/ws/rest/a.Gone', { x })
  for (const x of ['[1]', 'no']) await client.put('/ws/rest/a.Here', { x })
  await running.close()
  rmSync(join(folder, 'models', 'a.Gone.json'))
  const env = { MODELS_DIR: join(folder, 'models'), DATA_DIR: join(folder, 'data') }
  const check = commandRunner(HELP, modelsCheck, env)
  const { out } = await check('')
  t.match(out, /^a\.Gone\n {2}gone {5}its file; its 2 records stay, are not served/m)
  t.match(JSON.parse((await check('--json')).out).unserved, [{ model: 'a.Gone', records: 2 }])
  writeModel(folder, 'a.Here.json', { type: 'object', audit: false, properties: { x: { type: 'array' } } })
  t.match(await check(''), { code: 1, out: /"x" cannot become array without loss in the records 2\./ })
  writeModel(folder, 'a.Here.json', { type: 'object', audit: false, properties: { y: { type: 'array' } } })
  t.match(await check(''), { code: 0, out: /hidden {3}x has no field/ })
  const old = new Sqlite(join(folder, 'data', 'dossier.db'))
  old.exec('DROP TABLE dossier_tables; ALTER TABLE dossier_secrets DROP COLUMN isOpen')
  old.close()
  t.match(await check(''), { code: 0, out: /hidden {3}x has no field/ }, 'a database of the version before')
})

t.test('a folder that is not served yet, and who may do what', async (t) => {
  const folder = makeFolder(t)
  const staged = makeFolder(t, {
    'contacts.Contact.json': {
      ...CONTACT,
      access: { read: ['*'], update: [{ role: 'sales', where: 'own' }, 'admin'] },
    },
    'contacts.Note.json': {
      type: 'object',
      properties: { x: { type: 'string' } },
      access: { create: [{ role: '*', where: 'own' }], read: [{ role: '*', where: 'own' }] },
    },
    'notes.yaml': '',
    'contacts.Old.json~': '',
    '.contacts.Contact.json.swp': '',
  })
  mkdirSync(join(staged, 'models', 'more'))
  await (await startApp(t, { folder })).close()
  const env = { MODELS_DIR: join(folder, 'models'), DATA_DIR: join(folder, 'data'), INIT_CWD: staged }
  const check = commandRunner(HELP, modelsCheck, env)
  const { code, out } = await check('models')
  t.equal(code, 0)
  t.match(
    out,
    /^contacts\.Contact\n {2}will {5}index createdBy\n {2}access {3}read: everybody logged in; create, delete: admin; update: sales \(own records\), admin\n/,
  )
  t.match(
    out,
    /contacts\.Note\n(.*\n)* {2}access {3}read: everybody logged in \(own records\), admin; create: everybody logged in; update, delete: admin\n/,
  )
  t.match(
    out,
    /\nnote {2}more is passed over: a model is a \.json, \.ts or \.js file right in this folder\.\nnote {2}notes\.yaml is passed over/,
  )
  t.notMatch(out, /Old|swp/)
  t.match(JSON.parse((await check('models --json')).out), {
    passedOver: ['more', 'notes.yaml'],
    models: [{ access: { read: 'everybody logged in', delete: 'admin' } }, {}],
  })
  t.match(await check('nowhere'), { code: 1, out: /models folder does not exist/ })
})

t.test('who may do what, in words', async (t) => {
  const rule = (criteria: object) => ({ role: 'sales', where: criteria })
  const field = (fieldName: string, operator: string, value?: unknown, value2?: unknown) => ({
    fieldName,
    operator,
    ...(value !== undefined && { value }),
    ...(value2 !== undefined && { value2 }),
  })
  const of = (operator: string, ...criteria: object[]) => ({ operator, criteria })
  const ITEM = {
    type: 'object',
    properties: {
      color: { type: 'string', index: true },
      size: { type: 'integer' },
      group: { type: 'integer', reference: 'a.Group' },
      tags: { type: 'array', items: { type: 'integer', reference: 'a.Group' } },
      pay: { type: 'integer', access: { read: ['hr'], write: ['hr'] } },
      grade: { type: 'string', access: { write: ['hr'] } },
    },
    required: ['pay'],
    access: {
      read: [
        rule(
          of(
            'and',
            field('color', 'in', ['red', '$user.color']),
            of('or', field('size', '>', 5), field('size', '<=', '$user.max')),
          ),
        ),
        rule(of('not', field('color', 'like', 'x'))),
        { role: '*', where: 'own' },
      ],
      create: [
        rule(of('not', field('size', 'between', 1, 3), field('color', 'isNull'))),
        { role: 'guest', where: 'own' },
      ],
      update: [
        rule(
          of(
            'or',
            field('group.name', '!=', '$user'),
            field('tags', 'any', '$user.tags'),
            field('tags', 'all', [1, 2]),
          ),
        ),
      ],
      delete: [
        rule(field('color', 'notLike', 'x%')),
        'chief',
        rule(field('size', '=', 1)),
        rule(of('and', field('size', '>', 1), field('size', '<', 9))),
        rule(field('group.name', '=', 'x')),
      ],
    },
  }
  const GROUP = {
    type: 'object',
    properties: { name: { type: 'string' }, items: { inverse: 'a.Item.group' } },
    access: {
      read: [
        rule({ fieldName: 'items', operator: 'count', criteria: field('size', 'notIn', [1]), is: '>=', value: 3 }),
      ],
      update: [rule({ fieldName: 'items', operator: 'some', criteria: field('size', '<', 3) })],
      delete: [rule({ fieldName: 'items', operator: 'none' })],
      create: [rule(field('name', 'notBetween', 'a', 'b')), rule(field('id', '>=', 3))],
    },
  }
  const folder = makeFolder(t, { 'a.Item.json': ITEM, 'a.Group.json': GROUP })
  const env = { MODELS_DIR: join(folder, 'models'), DATA_DIR: join(folder, 'data') }
  const check = () => commandRunner(HELP, modelsCheck, env)('', '')
  const { out, code } = await check()
  t.equal(code, 0)
  const expected = [
    `sales: read: those where color is one of "red", the user's color and (size is more than 5 or size is at most the user's max), or those where not (color contains "x"), or own ones`,
    `create: those where not (size is from 1 to 3 and color is not set)`,
    `update: those where group.name is not the user or tags has one of the user's tags or tags has all of 1, 2`,
    `delete: those where color does not contain "x%", or those where size is 1, or those where size is more than 1 and size is less than 9, or those where group.name is "x"; without pay; does not write grade`,
    'guest: read: own ones; create: all; without pay',
    'hr: read: own ones',
    'everybody: read: own ones; without pay; does not write grade',
    'chief: read: own ones; delete: all; without pay',
    'admin: read, create, update, delete: all',
    'read: those where the number of items where size is none of 1 is at least 3',
    'create: those where name is not from "a" to "b", or those where id is at least 3',
    'update: those where has items where size is less than 3',
    'delete: those where not (has items)',
    'a rule compares "size" of a.Item, which has no index',
    'a rule compares "size", which has no index',
    'a rule compares "name" of a.Group, which has no index',
    'the role "sales" may create records, but not write all fields',
    '/access/read/0/where: no user has the attribute "color", so this matches nothing.',
  ]
  for (const text of expected) t.ok(out.includes(text), text)
  t.notMatch(out, /compares "(?:color|id)"/)

  const running = await startApp(t, { folder })
  const admin = await running.login()
  await admin.put('/ws/users', { username: 'x', roles: [], attributes: { color: 'a', colour: 'b', max: 1, tags: [1] } })
  t.notMatch((await check()).out, /no user has/)
  const older = makeFolder(t, { 'a.Item.json': ITEM, 'a.Group.json': GROUP })
  mkdirSync(join(older, 'data'))
  const database = new Sqlite(join(older, 'data', 'dossier.db'))
  // As a version made it that knew no attributes.
  database.exec('CREATE TABLE dossier_users (username TEXT PRIMARY KEY, roles TEXT)')
  database.close()
  const before = { MODELS_DIR: join(older, 'models'), DATA_DIR: join(older, 'data') }
  t.match(await commandRunner(HELP, modelsCheck, before)('', ''), { code: 0, out: /no user has the attribute "color"/ })
  const [state] = (await admin.get('/ws/state/models')).body.data
  t.match(state.models[1], {
    model: 'a.Item',
    rights: [{ role: 'sales', hidden: ['pay'], locked: ['grade'] }],
    warnings: [/index/, /index/, /may create/],
  })

  const faults: [criteria: object, fault: RegExp][] = [
    [
      field('colour', '=', 'x'),
      /a\.Item\.json \/access\/read\/0\/where: where\.fieldName: a\.Item has no field "colour"\. Did you mean "color"/,
    ],
    [field('size', '=', 'x'), /where\.value must be a whole number/],
    [field('size', '=', '$user'), /\$user is a text, and "size" is not/],
    [field('size', '=', '$usr.x'), /"\$usr\.x" must be \$user, the username, or \$user\.NAME/],
    [field('size', 'in', ['$user.x y']), /must be \$user/],
    [{ criteria: [] }, /has no criteria: leave "where" out/],
    [field('pay.x', '=', 1), /"pay" of a\.Item is not a reference/],
  ]
  for (const [criteria, fault] of faults) {
    writeModel(folder, 'a.Item.json', { ...ITEM, access: { read: [rule(criteria)] } })
    t.match(await check(), { code: 1, out: fault })
  }
  writeModel(folder, 'a.Item.json', { ...ITEM, access: { read: [{ role: 'x', where: 'mine' }] } })
  t.match(await check(), { code: 1, out: /\/access\/read\/0\/where/ })
  const boolean = {
    type: 'object',
    properties: { done: { type: 'boolean' } },
    access: { read: [rule(field('done', '=', '$user.x'))] },
  }
  writeModel(folder, 'a.Item.json', ITEM)
  writeModel(folder, 'a.Other.json', boolean)
  t.match(await check(), { code: 1, out: /\$user\.x is a text or a number, and "done" is not/ })
  writeModel(folder, 'a.Item.json', { type: 'object', properties: { a: { type: 'string', acess: {} } } })
  t.match(await check(), { code: 1, out: /acess/ })
})
