import type { Client } from '../client.ts'

/** Models that have something of everything, for tests with a browser. */

export const COMPANY = {
  title: 'Company',
  description: 'Whom we sell to.',
  type: 'object',
  properties: {
    name: { type: 'string', title: 'Name', maxLength: 100, unique: true },
    town: { type: 'string', title: 'Town' },
  },
  required: ['name'],
  nameField: 'name',
}

export const PERSON = {
  title: 'Person',
  description: 'People whom we know.',
  type: 'object',
  properties: {
    name: { type: 'string', title: 'Name', maxLength: 80 },
    email: { type: 'string', title: 'E-mail', format: 'email', unique: true },
    age: { type: 'integer', title: 'Age', minimum: 0, maximum: 150, index: true },
    born: { type: 'string', title: 'Born', format: 'date' },
    seen: { type: 'string', title: 'Last seen', format: 'date-time' },
    active: { type: 'boolean', title: 'Active', default: true },
    salary: { type: 'string', title: 'Salary', format: 'decimal' },
    level: { type: 'string', title: 'Level', enum: ['junior', 'senior', 'lead'] },
    company: { type: 'integer', title: 'Company', reference: 'shop.Company' },
    partners: { type: 'array', title: 'Partners', items: { type: 'integer', reference: 'shop.Company' } },
    tags: { type: 'array', title: 'Tags', items: { type: 'string' } },
    days: { type: 'array', title: 'Days', items: { type: 'string', enum: ['mon', 'tue'] } },
    address: {
      type: 'object',
      title: 'Address',
      properties: { street: { type: 'string', title: 'Street' }, zip: { type: 'string', title: 'Zip' } },
    },
    extra: { type: 'object', title: 'Extra' },
    pin: { type: 'string', title: 'Pin', writeOnly: true },
    notes: { type: 'string', title: 'Notes', maxLength: 4000 },
  },
  required: ['name'],
  nameField: 'name',
  list: ['name', 'email', 'age', 'company', 'level', 'active'],
}

export const MODELS = { 'shop.Company.json': COMPANY, 'shop.Person.json': PERSON }

/** Lines of CSV. */
export const COMPANIES = ['name,town', ...Array.from({ length: 20 }, (_, at) => `Company ${at + 1},Town ${at % 3}`)]
export const PEOPLE = [
  'name,email,age,born,seen,level,company,notes,partners',
  ...Array.from({ length: 1500 }, (_, at) => {
    const level = ['junior', 'senior', 'lead'][at % 3]
    return `Person ${at + 1},p${at + 1}@example.org,${18 + (at % 50)},1980-01-${10 + (at % 10)},2026-01-02T10:00:00Z,${level},${1 + (at % 20)},note ${at + 1},${at % 2 === 0 ? '1;3' : ''}`
  }),
]

/** Imports the companies, and some of the people. */
export async function importPeople(admin: Client, people = PEOPLE.length - 1): Promise<void> {
  for (const [model, lines] of [
    ['shop.Company', COMPANIES],
    ['shop.Person', PEOPLE.slice(0, people + 1)],
  ] as const)
    await admin.send('POST', `/ws/rest/${model}/import`, lines.join('\n'), { 'content-type': 'text/csv' })
}
