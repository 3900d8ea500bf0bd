import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { loadModels } from '../../src/filters/load-models.ts'
import { fileHash, ModelFilesError } from '../../src/model/load.ts'
import { ModuleLoader } from '../../src/model/module-loader.ts'
import { CONTACT, type ModelFiles, makeFolder } from '../helper.ts'

const TYPEBOX = `
import { Type } from '@sinclair/typebox'
export default Type.Object({
  name: Type.String({ unique: true }),
  size: Type.Optional(Type.Union([Type.Literal('S'), Type.Literal('L')], { default: 'S' })),
  tags: Type.Optional(Type.Array(Type.String())),
}, { title: 'Shirt', list: ['name'] })
`

async function faultsOf(t: Parameters<typeof makeFolder>[0], models: ModelFiles) {
  const error = await loadModels(join(makeFolder(t, models), 'models')).then(
    () => undefined,
    (thrown) => thrown,
  )
  if (!(error instanceof ModelFilesError)) throw error ?? new Error('no fault was found')
  return error
}

t.test('JSON, TypeScript and JavaScript files; all else is left alone', async (t) => {
  const folder = makeFolder(t, {
    'contacts.Contact.json': CONTACT,
    'shop.Shirt.ts': TYPEBOX,
    'shop.sub.Sock_Left.js': 'export default { type: "object", properties: { a: { type: "string" } } }',
    'README.md': '# Models',
    '.hidden.json': '{',
  })
  const models = await loadModels(join(folder, 'models'))
  t.strictSame(
    models.map(({ name }) => name),
    ['contacts.Contact', 'shop.Shirt', 'shop.sub.Sock_Left'],
  )
  const [, shirt, sock] = models
  t.match(shirt, { title: 'Shirt', list: ['name'], unique: [['name']] })
  t.match(shirt?.fields.slice(0, 3), [
    { name: 'name', required: true },
    { name: 'size', required: false, schema: { type: 'string', enum: ['S', 'L'] }, default: 'S' },
    { name: 'tags', type: 'array' },
  ])
  t.equal(sock?.title, 'Sock_Left')
})

t.test('the shipped example is right, and is the contact of the specification', async (t) => {
  const [contact] = await loadModels(join(import.meta.dirname, '../../models'))
  t.match(contact, { name: 'contacts.Contact', list: ['fullName', 'email'] })
})

t.test('faults of files, all at once', async (t) => {
  const folder = makeFolder(t, {})
  mkdirSync(join(folder, 'models', 'a.Folder.json'))
  const files: Record<string, [content: unknown, message: RegExp]> = {
    'a.Empty.json': ['', /^The file is empty/],
    'a.Truncated.json': ['{"type": "object", "prop', /^The file is not JSON: /],
    'a.Latin.json': [Buffer.from('{"title": "\xe9"}', 'latin1'), /^The file is not UTF-8/],
    'a.Twice.json': [
      '{"type":"object","properties":{"x":{"type":"string"},"y":{"enum":[{},{"a":1}],"type":"string","type":"integer"}}}',
      /^\/properties\/y\/type occurs twice/,
    ],
    'a.Same.json': [CONTACT, /^$/],
    'a.Same.ts': [TYPEBOX, /^a\.Same\.json describes a model of the same name/],
    'A.SAME.js': ['export default {}', /^$/],
    'a.Syntax.ts': ['export default {', /^The module cannot be loaded: /],
    'a.Nothing.ts': ['export const x = 1', /must export the model by default/],
    'a.Wrong.json': [{ ...CONTACT, lsit: [] }, /^is not a known keyword/],
    'contact.json': [CONTACT, /^A model file is named <package>\.<Model>/],
    'a.lower.json': [CONTACT, /^A model file is named/],
    'a__b.C.json': [CONTACT, /^A model file is named/],
    'a.B-c.json': [CONTACT, /^A model file is named/],
    'sqlite.Foo.json': [CONTACT, /^A name that starts with "sqlite\." is taken/],
    'dossier.Foo.json': [CONTACT, /^A name that starts with "dossier\." is taken/],
    [`a.${'X'.repeat(200)}.json`]: [CONTACT, /^The name is longer than 200/],
    'a.Null.json': ['null', /must be object/],
    'a.Deep.json': [`${'{"a":'.repeat(501)}1${'}'.repeat(501)}`, /^The model is nested deeper than 500 levels/],
  }
  const error = await faultsOf(t, Object.fromEntries(Object.entries(files).map(([name, [content]]) => [name, content])))
  for (const [file, [, message]] of Object.entries(files)) {
    const found = error.faults.filter((fault) => fault.file === file)
    if (message.source !== '^$') t.match(found[0]?.message, message, file)
  }
  t.equal(error.message.split('\n').length >= 12, true, 'one line per fault')
  t.match(error.message, /^a\.Empty\.json: The file is empty/m)
  t.match(error.message, /^a\.Wrong\.json \/lsit: is not a known keyword/m)
  const folderFault = await loadModels(join(folder, 'models')).catch((thrown) => thrown)
  t.match(folderFault.faults, [{ file: 'a.Folder.json', message: 'This is a folder, not a file.' }])
})

t.test('a folder that is not there', async (t) => {
  await t.rejects(loadModels(join(t.testdir(), 'nowhere')), /models folder does not exist/)
  await t.rejects(loadModels(import.meta.filename), /models folder cannot be read: ENOTDIR/)
})

t.test('a file that cannot be read', async (t) => {
  const folder = makeFolder(t, {})
  symlinkSync(join(folder, 'gone.json'), join(folder, 'models', 'a.Gone.json'))
  await t.rejects(loadModels(join(folder, 'models')), /a\.Gone\.json: The file cannot be read: ENOENT/)
})

t.test('inverse fields whose other side does not refer to them', async (t) => {
  const inverse = (name: string) => ({ type: 'object', properties: { many: { inverse: name } } })
  const { faults } = await faultsOf(t, {
    'a.Child.json': {
      type: 'object',
      properties: { parent: { type: 'integer', reference: 'a.Right' }, text: { type: 'string' } },
    },
    'a.Right.json': inverse('a.Child.parent'),
    'a.Other.json': inverse('a.Child.parent'),
    'a.Typo.json': inverse('a.Chidl.parent'),
    'a.Plain.json': inverse('a.Child.text'),
    'a.Broken.json': '{',
    'a.Unsure.json': inverse('a.Broken.parent'),
    'a.Wrong.json': { type: 'object', properties: { many: { inverse: 7 } } },
  })
  t.strictSame(
    faults.map(({ file, pointer, message }) => [file, pointer, message.slice(0, 60)]),
    [
      ['a.Broken.json', '', faults[0]?.message.slice(0, 60)],
      ['a.Other.json', '/properties/many/inverse', 'a.Child has no field "parent" that refers to a.Other.'],
      ['a.Plain.json', '/properties/many/inverse', 'a.Child has no field "text" that refers to a.Plain.'],
      ['a.Typo.json', '/properties/many/inverse', 'There is no model "a.Chidl". Did you mean "a.Child"?'],
      ['a.Wrong.json', '/properties/many/inverse', 'must be string.'],
    ],
  )
})

t.test('several references', async (t) => {
  const refersTo = (name: string, reference: string) => ({
    type: 'object',
    properties: { [name]: { type: 'array', items: { type: 'integer', reference } } },
  })
  const { faults } = await faultsOf(t, {
    'a.One.json': refersTo('Tags', 'a.Two'),
    'a.One.tags.Two.json': refersTo('x', 'a.One'),
    'a.One.Tags.json': refersTo('x', 'a.One'),
    'a.Two.json': refersTo('x', 'a.Tow'),
  })
  t.strictSame(
    faults.map(({ file, pointer, message }) => [file, pointer, message]),
    [
      ['a.One.json', '/properties/Tags', 'would have its links in the table of a.One.Tags.json. Choose another name.'],
      ['a.Two.json', '/properties/x/items/reference', 'There is no model "a.Tow". Did you mean "a.Two"?'],
    ],
  )
})

t.test('references to models that nobody describes', async (t) => {
  const refersTo = (reference: string) => ({ type: 'object', properties: { to: { type: 'integer', reference } } })
  const error = await faultsOf(t, {
    'a.One.json': refersTo('a.Tow'),
    'a.Two.json': refersTo('a.One'),
    'a.Self.json': refersTo('a.Self'),
    'a.Bad.json': '{',
    'a.Three.json': refersTo('a.Bad'),
    'a.Four.json': { ...refersTo('a.Nobody'), lsit: [] },
    'a.Five.json': { type: 'object', properties: { to: 'a.Nobody' } },
  })
  t.strictSame(
    error.faults.map(({ file, pointer }) => `${file}${pointer}`),
    [
      'a.Bad.json',
      'a.Five.json/properties/to',
      'a.Four.json/lsit',
      'a.Four.json/properties/to/reference',
      'a.One.json/properties/to/reference',
    ],
  )
  t.match(error.message, /There is no model "a\.Tow"\. Did you mean "a\.Two"\?/)
})

const module = (text: string) => `${text}\nexport default { type: 'object', properties: { x: { type: 'string' } } }`

t.test('modules that do more than to export a model', async (t) => {
  const never = 'await new Promise(() => {})'
  const files: [file: string, content: string, message: RegExp][] = [
    ['a.Careless.js', module("Promise.reject(new Error('nobody waits'))"), /^The module failed: nobody waits/],
    ['a.Circle.js', 'const a = {}; a.a = a; export default a', /^The module cannot be loaded: Converting circular/],
    ['a.Exit.js', module('process.exit(0)'), /^The module ended its process/],
    ['a.Export.js', 'export default () => {}', /^The module must export the model by default/],
    ['a.Extra.js', module('process.exit(1)'), /^The module ended its process/],
    ['a.Import.js', module("import './nowhere.js'"), /^The module cannot be loaded: Cannot find module .*nowhere\.js/],
    ['a.Later.js', module(`setTimeout(() => { throw null })\n${never}`), /^The module failed: null/],
    ['a.Null.js', module('throw null'), /^The module cannot be loaded: null/],
    ['a.Text.js', "export default 'text'", /must be object/],
  ]
  const shared = join(makeFolder(t, {}), 'shared.js')
  writeFileSync(shared, "export const title = 'T'")
  const error = await faultsOf(t, {
    // A thread that is terminated writes no coverage: those of `Different` and `Export` end with the next file.
    'a.Different.ts': `import { title } from '${shared}'\n${TYPEBOX.replace("'Shirt'", 'title')}`,
    'a.Also.ts': TYPEBOX,
    'a.Alters.js': module("JSON.stringify = () => '{}'\nconsole.log('not in the output')"),
    'a.Before.js': module("setTimeout(() => { throw new Error('of the module before') }, 300)"),
    'a.Between.js': module('await new Promise((resolve) => setTimeout(resolve, 600))'),
    'a.Fine.ts': TYPEBOX,
    ...Object.fromEntries(files.map(([file, content]) => [file, content])),
  })
  t.strictSame(
    error.faults.map(({ file }) => file),
    files.map(([file]) => file),
    'and no others',
  )
  for (const [file, , message] of files)
    t.match(error.faults.find((fault) => fault.file === file)?.message, message, file)

  const modules = new ModuleLoader({ limitMs: 3000 })
  t.teardown(() => modules.close())
  const path = join(makeFolder(t, { 'a.Thing.js': '' }), 'models/a.Thing.js')
  const load = (text: string) => modules.load(path, Buffer.from(text))
  await t.rejects(load(module(never)), /did not end within 3 seconds/)
  await t.rejects(load(module('for (;;) {}')), /did not end within 3 seconds/)
  t.match(await load(module('')), { raw: { type: 'object' }, imported: [] }, 'the next one is loaded all the same')
})

t.test('a load of modules that do not end has an end', async (t) => {
  const path = join(makeFolder(t, { 'a.Thing.js': '' }), 'models/a.Thing.js')
  const loop = Buffer.from('for (;;) {}')
  const modules = new ModuleLoader({ limitMs: 1 })
  t.teardown(() => modules.close())
  for (let nth = 1; nth <= 3; nth++) await t.rejects(modules.load(path, loop), /did not end within/)
  await t.rejects(modules.load(path, loop), /was not loaded: others before it did not end/)

  const stopping = new AbortController()
  const stopped = new ModuleLoader({ signal: stopping.signal })
  t.teardown(() => stopped.close())
  const loading = stopped.load(path, loop)
  stopping.abort()
  await t.rejects(loading, /the service stops/)
  await t.rejects(stopped.load(path, loop), /the service stops/, 'nor is another one')
})

t.test('a module and what it imports are loaded anew, and both count', async (t) => {
  const alone = `export default { type: 'object' as const, properties: { x: { type: 'string' } } }`
  const real = makeFolder(t, {
    'a.Alone.ts': alone,
    'a.First.ts': `import { title } from '../shared.ts'
      export default { type: 'object', title, properties: { x: { type: 'string' as const } } }`,
    'a.Second.ts': `import first from './a.First.ts'
      export default { ...first, properties: { y: { type: 'string' } } }`,
  })
  // By a link, as containers get their configuration.
  const folder = join(makeFolder(t, {}), 'linked')
  symlinkSync(join(real, 'models'), folder)
  const load = async (title: string) => {
    writeFileSync(join(real, 'names.cjs'), `exports.title = '${title}'`)
    return await loadModels(folder)
  }
  writeFileSync(join(real, 'shared.ts'), `import names from './names.cjs'\nexport const title: string = names.title`)
  const before = await load('earlier')
  t.match(before, [{ title: 'Alone' }, { title: 'earlier', fields: [{ name: 'x' }] }, { fields: [{ name: 'y' }] }])
  t.equal(before[0]?.hash, fileHash(Buffer.from(alone)), 'of a module alone as before')
  t.strictSame(await load('earlier'), before)
  const after = await load('later')
  t.match(after, [{ title: 'Alone' }, { title: 'later' }, { title: 'later' }])
  t.strictSame(
    after.map(({ hash }, nth) => hash === before[nth]?.hash),
    [true, false, false],
  )
})
