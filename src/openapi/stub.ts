import { ADMIN, EVERYBODY } from '../model/access.ts'
import type { JsonSchema, Model } from '../model/model.ts'
import { ID_SCHEMA, VERSION_SCHEMA } from '../model/write-schemas.ts'
import { ownName } from './component-names.ts'

/** The answer for a written record that the user may not read. */
export const STUB = {
  [ownName('Stub')]: {
    type: 'object',
    description: 'Of a record that the user may write but not read.',
    properties: { id: ID_SCHEMA, version: VERSION_SCHEMA },
    required: ['id', 'version'],
  },
} satisfies Record<string, JsonSchema>

/** Whether some role may write records of a model but not read all of them: its users get a `Stub` then. */
export function canReturnStub({ access }: Model): boolean {
  const readers = access.read.filter(({ own, where }) => !own && !where).map(({ role }) => role)
  if (readers.includes(EVERYBODY)) return false
  return [...access.create, ...access.update].some(({ role }) => role !== ADMIN && !readers.includes(role))
}
