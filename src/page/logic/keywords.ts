import { say } from '../language/say.ts'
import type { FieldKind } from './model-file.ts'

/** The keywords of model files, explained to people. */

export interface Keyword {
  /** in the file; `items.enum` is one of the items */
  path: string
  title: string
  about: string
  input: KeywordInput
  /** of a field; without them, of all kinds that are stored */
  kinds?: FieldKind[]
  choices?: Record<string, string>
}

export type KeywordInput =
  | 'words'
  | 'text'
  | 'integer'
  | 'number'
  | 'yes'
  | 'no'
  | 'choice'
  | 'lines'
  | 'json'
  | 'model'
  | 'field'
  | 'fields'

const LISTS: FieldKind[] = ['list', 'choices', 'references']
const NUMBERS: FieldKind[] = ['integer', 'number']
const TEXTS: FieldKind[] = ['text', 'choice', 'decimal', 'date', 'date-time', 'time', 'email', 'uri', 'uuid']
const SIMPLE: FieldKind[] = [...TEXTS, 'integer', 'number', 'boolean', 'reference']
const DEFAULT = say(
  'What a new record has if nothing is given. When the field is new, records that there are get it too.',
)

const restrict = say('refuse to delete it')
const clear = say('empty this field')

/** One keyword of a model file: `path` is its place, `about` its meaning in a few words. */
const keyword = (
  path: string,
  input: KeywordInput,
  title: string,
  about: string,
  more: Pick<Keyword, 'kinds' | 'choices'> = {},
): Keyword => ({ path, input, title, about, ...more })

export const FIELD_KEYWORDS: Keyword[] = [
  keyword('title', 'words', say('Title'), say('What people call it.'), {
    kinds: [...SIMPLE, ...LISTS, 'inverse', 'other'],
  }),
  keyword('enum', 'lines', say('Choices'), say('The only values, one in each line.'), { kinds: ['choice'] }),
  keyword('items.enum', 'lines', say('Choices'), say('The only values, one in each line.'), { kinds: ['choices'] }),
  keyword(
    'titles',
    'json',
    say('Titles of the choices'),
    say('What people call them, by value: {example}', { example: '{ "open": { "en": "open", "de": "offen" } }' }),
    { kinds: ['choice', 'choices'] },
  ),
  keyword('reference', 'model', say('Model'), say('The records that can be chosen.'), { kinds: ['reference'] }),
  keyword('items.reference', 'model', say('Model'), say('The records that can be chosen.'), { kinds: ['references'] }),
  keyword(
    'onDelete',
    'choice',
    say('When that record is deleted'),
    say('What happens to the records that refer to it.'),
    { choices: { restrict, clear, cascade: say('delete this record too') }, kinds: ['reference'] },
  ),
  keyword(
    'items.onDelete',
    'choice',
    say('When that record is deleted'),
    say('What happens to the records that refer to it.'),
    { choices: { restrict, clear }, kinds: ['references'] },
  ),
  keyword(
    'inverse',
    'text',
    say('By which field'),
    say('Model and field that refer to this one, such as crm.Person.company.'),
    { kinds: ['inverse'] },
  ),
  keyword('default', 'text', say('Default'), DEFAULT, { kinds: TEXTS }),
  keyword('default', 'number', say('Default'), DEFAULT, { kinds: NUMBERS }),
  keyword('default', 'json', say('Default'), say('{about} As JSON: {example}', { about: DEFAULT, example: 'true' }), {
    kinds: ['boolean', 'other', ...LISTS],
  }),
  keyword(
    'maxLength',
    'integer',
    say('At most so many characters'),
    say('With more than 200 it gets an input of several lines.'),
    { kinds: ['text'] },
  ),
  keyword('minLength', 'integer', say('At least so many characters'), say('Shorter texts are refused.'), {
    kinds: ['text'],
  }),
  keyword(
    'pattern',
    'text',
    say('Pattern'),
    say('A regular expression that a text has to match: {example}', { example: '^O-[0-9]+$' }),
    { kinds: ['text'] },
  ),
  keyword('minimum', 'number', say('At least'), say('Smaller numbers are refused.'), { kinds: NUMBERS }),
  keyword('maximum', 'number', say('At most'), say('Larger numbers are refused.'), { kinds: NUMBERS }),
  keyword('exclusiveMinimum', 'number', say('More than'), say('This number and smaller ones are refused.'), {
    kinds: NUMBERS,
  }),
  keyword('exclusiveMaximum', 'number', say('Less than'), say('This number and larger ones are refused.'), {
    kinds: NUMBERS,
  }),
  keyword('multipleOf', 'number', say('A multiple of'), say('Such as 0.5, for halves.'), { kinds: NUMBERS }),
  keyword('minItems', 'integer', say('At least so many'), say('Shorter lists are refused.'), { kinds: LISTS }),
  keyword('maxItems', 'integer', say('At most so many'), say('Longer lists are refused.'), { kinds: LISTS }),
  keyword('uniqueItems', 'yes', say('Each only once'), say('A list with the same value twice is refused.'), {
    kinds: ['list', 'choices'],
  }),
  keyword(
    'computed',
    'text',
    say('Made from other fields'),
    say('A template such as {example}. Nobody can write the field then.', { example: '{firstName} {lastName}' }),
    { kinds: ['text'] },
  ),
  keyword(
    'unique',
    'yes',
    say('No two records have the same'),
    say('A second one is refused. An import can find records by it.'),
    { kinds: SIMPLE },
  ),
  keyword('index', 'yes', say('Fast to find and sort by'), say('For tables with many records; takes some space.'), {
    kinds: SIMPLE,
  }),
  keyword('description', 'words', say('Description'), say('Explains the field to people who fill it in.'), {
    kinds: [...SIMPLE, ...LISTS, 'inverse', 'other'],
  }),
  keyword('readOnly', 'yes', say('Nobody writes it'), say('What is sent is ignored; it keeps its default.')),
  keyword('writeOnly', 'yes', say('Nobody reads it'), say('It is stored and never shown: a secret.')),
  keyword(
    'access',
    'json',
    say('Who may read and write it'),
    say('Roles, as JSON: {example}. For others the field does not exist.', {
      example: '{ "read": ["hr"], "write": ["hr"] }',
    }),
  ),
  keyword(
    'renamedFrom',
    'text',
    say('Earlier name'),
    say('The field takes over the values of the one that had this name.'),
  ),
  keyword('examples', 'json', say('Examples'), say('For the description of the API, as a list in JSON.')),
]

export const MODEL_KEYWORDS: Keyword[] = [
  keyword('title', 'words', say('Title'), say('What one record is called.')),
  keyword('plural', 'words', say('Title of several'), say('What several records are called.')),
  keyword('description', 'words', say('Description'), say('What the records are for.')),
  keyword(
    'nameField',
    'field',
    say('Field that names a record'),
    say('It stands above the record and wherever others refer to it.'),
  ),
  keyword('list', 'fields', say('Columns of the table'), say('In their order. Without any, all simple fields.')),
  keyword(
    'search',
    'fields',
    say('Fields that are searched'),
    say('Where the search looks for words. Without any, the name and the texts of the table.'),
  ),
  keyword(
    'unique',
    'json',
    say('Combinations that no two records share'),
    say('Lists of fields, as JSON: {example}', { example: '[["firstName", "lastName"]]' }),
  ),
  keyword(
    'indexes',
    'json',
    say('Combinations that are fast to find'),
    say('Lists of fields, as JSON: {example}', { example: '[["status", "orderedOn"]]' }),
  ),
  keyword(
    'access',
    'json',
    say('Who may do what'),
    say('Roles, as JSON: {example}. Without it, everybody may do everything; what is left out is for admins.', {
      example: '{ "read": ["*"], "create": ["clerk"] }',
    }),
  ),
  keyword(
    'audit',
    'no',
    say('Without who and when'),
    say('Drops the fields that say who has made and changed a record, and when.'),
  ),
  keyword('history', 'no', say('Without history'), say('Changes are not kept: nothing can be undone or brought back.')),
]

/** The keywords that a field of a kind can have. */
export const keywordsFor = (kind: FieldKind): Keyword[] =>
  FIELD_KEYWORDS.filter(({ kinds }) => (kinds ? kinds.includes(kind) : kind !== 'inverse'))
