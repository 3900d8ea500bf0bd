import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import ts from 'typescript'
import { GERMAN, GERMAN_TABLE } from '../../src/page/language/german.ts'
import { messagePatterns, translateMessage } from '../../src/page/language/messages.ts'
import {
  chooseLanguage,
  inSentence,
  language,
  languageIn,
  say,
  sayForms,
  sayMessage,
  sayParts,
  TABLES,
} from '../../src/page/language/say.ts'

/** Where the texts stand in the arguments of the functions that translate. */
const TEXTS: Record<string, [first: number, count: number]> = {
  say: [0, 1],
  sayParts: [0, 1],
  plural: [1, 2],
  sayForms: [1, 2],
}
const PAGE = join(import.meta.dirname, '../../src/page')
const files = readdirSync(PAGE, { recursive: true })
  .map(String)
  .filter((name) => name.endsWith('.ts') && !name.startsWith('language/'))

interface Found {
  /** texts that are translated, by the place of their first use */
  texts: Map<string, string>
  faults: string[]
}

/** Finds the texts of a file: those that are translated, and those that look as if they had to be. */
function textsIn(name: string): Found {
  const source = ts.createSourceFile(name, readFileSync(join(PAGE, name), 'utf8'), ts.ScriptTarget.Latest, true)
  const texts = new Map<string, string>()
  const faults: string[] = []
  const place = (node: ts.Node) => `${name}:${source.getLineAndCharacterOfPosition(node.getStart()).line + 1}`
  const visit = (node: ts.Node): void => {
    if (ts.isCallExpression(node) && ts.isIdentifier(node.expression) && Object.hasOwn(TEXTS, node.expression.text)) {
      const [first, count] = TEXTS[node.expression.text] as [number, number]
      const parts = node.arguments.slice(first, first + count)
      if (parts.every(ts.isStringLiteralLike)) texts.set(parts.map(({ text }) => text).join(' | '), place(node))
      else if (!isDefinition(node)) faults.push(`${place(node)}: a text that is no literal`)
      for (const other of node.arguments) if (!parts.includes(other)) visit(other)
      return
    }
    if (isForPeople(node)) faults.push(`${place(node)}: ${node.getText()} is not translated`)
    else if (!isNoText(node)) ts.forEachChild(node, visit)
  }
  visit(source)
  return { texts, faults }
}

/** `plural` hands its own arguments on. */
const isDefinition = (node: ts.CallExpression) =>
  node.expression.getText() === 'sayForms' && node.getSourceFile().fileName === 'logic/values.ts'

/** Attributes and properties that nobody reads. */
const CODE = [
  'class',
  'key',
  'keys',
  'href',
  'accept',
  'rel',
  'style',
  'd',
  'viewBox',
  'points',
  'transform',
  'timeZone',
]

function isNoText(node: ts.Node): boolean {
  return (
    ts.isImportDeclaration(node) ||
    ts.isTypeNode(node) ||
    (ts.isPropertyAssignment(node) && CODE.includes(node.name.getText().replaceAll("'", '')))
  )
}

/** Several words, or a word that begins like a sentence. */
const WORDS = /\p{L}{2,}[,:]? \p{L}{2,}|^\s*\p{Lu}\p{Ll}{2,}[\p{Ll}:.…?!]*$/u

const isName = (node: ts.Node) => ts.isPropertyAssignment(node.parent) && node.parent.name === node

function isForPeople(node: ts.Node): boolean {
  if (ts.isTemplateExpression(node))
    return [node.head, ...node.templateSpans.map(({ literal }) => literal)].some(({ text }) =>
      /\p{L}{3,} |^ ?\p{Lu}\p{Ll}{2,}/u.test(text),
    )
  return ts.isStringLiteralLike(node) && WORDS.test(node.text) && !isName(node)
}

/** Literals that look like texts and are none for people. */
const EXCEPTIONS: [what: RegExp, why: string][] = [
  [/'(?:Esc(?:ape)?|Enter|Tab|Backspace)'|`(?:Ctrl|Alt)\+/, 'names of keys'],
  [/'Dossier'/, 'the name of the product'],
  [/'Infinity'/, 'a number'],
  [/'(?:input|\.chip)\b[^']*'/, 'CSS selectors'],
  [/`(?:board|calendar) \$/, 'a value of an option'],
  [/^logic\/curl\.ts|'npm run backup'/, 'commands for a shell'],
  [/^logic\/periods\.ts/, 'what stands in addresses; `periodTitle` translates it'],
]

const found = files.map(textsIn)
const used = new Map(found.flatMap(({ texts }) => [...texts]))
const names = (text: string) => [...text.matchAll(/\{\w+\}/g)].map(([name]) => name).sort()

t.test('every text of the page is translated', async (t) => {
  t.ok(used.size > 300, `${used.size} texts`)
  t.strictSame(
    found.flatMap(({ faults }) => faults).filter((fault) => !EXCEPTIONS.some(([what]) => what.test(fault))),
    [],
    'no text is shown in English only',
  )
  t.strictSame([...used.keys()].filter((text) => !Object.hasOwn(GERMAN, text)).sort(), [], 'none is missing')
  t.strictSame(
    Object.keys(GERMAN).filter((text) => !used.has(text)),
    [],
    'none is left over',
  )
})

t.test('a translation has the same values, and as many forms', async (t) => {
  for (const [english, german] of Object.entries(GERMAN)) {
    t.not(german.trim(), '', english)
    const forms = german.split(' | ')
    t.equal(forms.length, english.split(' | ').length, english)
    const wanted = [...new Set(names(english))]
    for (const form of forms)
      t.ok(
        names(form).every((name) => wanted.includes(name)),
        form,
      )
    t.strictSame([...new Set(names(german))], wanted, english)
  }
})

t.test('messages of the service', async (t) => {
  const patterns = messagePatterns(GERMAN_TABLE.messages)
  const german = (message: string) => translateMessage(message, patterns)
  for (const [message, text] of [
    ['is required', 'fehlt'],
    ['must be one of a, b', 'muss einer dieser Werte sein: a, b'],
    ['must be a number such as 1234.5: "x: y"', 'muss eine Zahl sein, etwa 1234,5: "x: y"'],
    ['must be > 5; must be multiple of 2', 'muss größer als 5 sein; muss ein Vielfaches von 2 sein'],
    ['there is no a.B with the id 7', 'es gibt a.B mit der Id 7 nicht'],
    ['name, age are not right.', 'name, age sind nicht richtig.'],
    ['nobody has translated this', 'nobody has translated this'],
    ['must match pattern "^\\d+$"', 'muss zum Muster „^\\d+$“ passen'],
    [
      'convert zip from TEXT to INTEGER (12 records); rebuild the table, after a backup',
      'zip von TEXT in INTEGER umwandeln (12 Datensätze); die Tabelle nach einer Sicherung neu anlegen',
    ],
    [
      '"zip" cannot become integer without loss in the records 3, 4 and more.',
      '„zip“ kann in diesen Datensätzen nicht ohne Verlust zu integer werden: 3, 4 und weitere.',
    ],
  ] as const)
    t.equal(german(message), text)
  t.equal(sayMessage('is required'), 'is required', 'in English as it is')
  for (const [english, own] of Object.entries(GERMAN_TABLE.messages))
    t.ok(
      names(own).every((name) => names(english).includes(name)),
      own,
    )
})

/** Where the service says what a change of a model does. */
const PLANS = ['plan', 'plan-rebuild', 'links', 'verify', 'migration-plan'].map((name) => `src/tables/${name}.ts`)

t.test('what a change of a model does is translated', async (t) => {
  const patterns = messagePatterns(GERMAN_TABLE.messages)
  const said = PLANS.flatMap((file) => {
    const source = ts.createSourceFile(
      file,
      readFileSync(join(PAGE, '../..', file), 'utf8'),
      ts.ScriptTarget.Latest,
      true,
    )
    const texts: string[] = []
    const visit = (node: ts.Node): void => {
      if (ts.isTaggedTemplateExpression(node)) return
      if (ts.isTemplateExpression(node) || ts.isStringLiteralLike(node))
        texts.push(
          node
            .getText()
            .slice(1, -1)
            .replaceAll(/\$\{[^}]*\}(?:'\)\}|`\)\})?/g, '7'),
        )
      ts.forEachChild(node, visit)
    }
    visit(source)
    return texts.filter((text) => /[a-z]{3} |\w [a-z]{3}/.test(text) && !/[A-Z]{3}/.test(text))
  })
  t.ok(said.length > 30, `${said.length} texts`)
  t.strictSame(
    said.filter((text) => translateMessage(text, patterns) === text),
    [],
  )
})

t.test('values take the place of their names', async (t) => {
  t.equal(language, 'en', 'without a browser')
  t.equal(say('{count} of {total}', { count: 3, total: '{count}' }), '3 of {count}', 'only once')
  t.strictSame(sayParts('Log in to {place}.', { place: 7 }), ['Log in to ', 7, '.'])
  t.equal(sayForms(1, '{count} thing', '{count} things', { count: 1 }), '1 thing')
  t.equal(sayForms(0, '{count} thing', '{count} things', { count: 0 }), '0 things')
  t.equal(inSentence('Company'), 'company')
})

t.test('the language is the first that the page knows', async (t) => {
  const browser = (kept: string | null, ...languages: string[]) => ({
    localStorage: { getItem: () => kept, setItem() {} },
    document: { defaultView: { navigator: { languages } } },
  })
  t.equal(languageIn(browser(null, 'fr-FR', 'de-AT', 'en')), 'de')
  t.equal(languageIn(browser('en', 'de')), 'en', 'what was chosen comes first')
  t.equal(languageIn(browser('constructor')), 'en')
  t.equal(inSentence('Firma', 'de'), 'Firma')
  t.strictSame(await TABLES.de(), GERMAN_TABLE)
  t.strictSame(await TABLES.en(), { texts: {}, messages: {} })
  const done: unknown[] = []
  const kept = { getItem: () => null, setItem: (...given: unknown[]) => done.push(given) }
  const globals = { localStorage: kept, location: { reload: () => done.push('reload') } }
  for (const [name, value] of Object.entries(globals))
    Object.defineProperty(globalThis, name, { value, configurable: true })
  chooseLanguage('de')
  for (const name of Object.keys(globals)) Reflect.deleteProperty(globalThis, name)
  t.strictSame(done, [['dossier-language', 'de'], 'reload'])
})
