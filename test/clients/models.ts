import { CONTACT, THING } from '../helper.ts'

/** Models with all that a client can meet: references, inverse fields, nested values, names that are keywords. */
export const MODELS = {
  'contacts.Contact.json': {
    ...CONTACT,
    properties: {
      ...CONTACT.properties,
      firstName: { type: 'string' },
      company: { type: 'integer', reference: 'crm.Company' },
      tags: { type: 'array', items: { type: 'string' } },
      // Names that mean something in a schema.
      storable: { type: 'boolean' },
      const: { type: 'string' },
      definitions: { type: 'string' },
      nullable: { type: 'boolean' },
      patternProperties: { type: 'string' },
      properties: { type: 'object', properties: { default: { type: 'integer' } } },
    },
    required: ['firstName'],
  },
  'crm.Company.json': {
    type: 'object',
    properties: {
      badge: { type: 'string', pattern: '^[A-Z]{2}[0-9]{4}$' },
      size: { type: 'integer', minimum: 5, maximum: 9 },
      part: { type: 'number', exclusiveMinimum: 0, multipleOf: 0.25 },
      below: { type: 'integer', exclusiveMaximum: -3 },
      name: { type: 'string', minLength: 7, maxLength: 9 },
      kind: { const: 'one', type: 'string' },
      shade: { enum: ['red', 'blue'], type: 'string', description: 'How it looks.' },
      deep: {
        type: 'object',
        properties: {
          rows: { type: 'array', items: { type: 'object', properties: { b: { type: 'integer' } } } },
          any: { type: 'array' },
        },
      },
      grid: { type: 'array', items: { type: 'array', title: 'Row', items: { type: 'integer' } } },
      words: { type: 'array', minItems: 1 },
      place: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
      boss: { type: 'integer', reference: 'crm.Secret' },
      people: { inverse: 'contacts.Contact.company', title: 'People' },
    },
  },
  'crm.Secret.json': {
    type: 'object',
    properties: {
      code: { type: 'string', pattern: '^x+$' },
      of: { type: 'integer', reference: 'crm.Company' },
      one: { const: 1, type: 'integer' },
      two: { enum: [1, 2], type: 'integer' },
    },
    required: ['code', 'of', 'one', 'two'],
    access: { read: ['chief'], create: ['*'] },
  },
  'test.Thing.json': THING,
}
