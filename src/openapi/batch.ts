import { type TSchema, Type } from '@sinclair/typebox'
import type { Operation } from '../model/access.ts'
import type { JsonSchema } from '../model/model.ts'
import { VERSION_SCHEMA } from '../model/write-schemas.ts'
import { BatchPreview, MAX_OPERATIONS } from '../requests/batch-schemas.ts'
import { componentsNamed, ownName } from './component-names.ts'
import { componentRef } from './refs.ts'
import { DeletePreviewSchema, type DescribedModels, type RouteDocs } from './schemas.ts'

const closed = { additionalProperties: false }
const Id = Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER })
const Version = Type.Integer({
  minimum: 0,
  maximum: Number.MAX_SAFE_INTEGER,
  description: 'Delete only if this is the current version.',
})
const As = Type.String({ minLength: 1, maxLength: 100, description: 'A name in this batch, for `{"$ref": NAME}`.' })

/** Body and answer of a batch about these models, as far as a user may change their records. */
export function batchDocs({ all, may }: DescribedModels): RouteDocs {
  const models = [...all.values()]
  const withRight = (operation: Operation) => models.filter((model) => may(model, operation))
  const operations: TSchema[] = [
    ...withRight('create').map(({ name }) =>
      Type.Object(
        { create: Type.Literal(name), data: ref(componentsNamed(name).create), as: Type.Optional(As) },
        closed,
      ),
    ),
    ...withRight('update').map(({ name }) =>
      Type.Object({ update: Type.Literal(name), data: updateOf(componentsNamed(name).update) }, closed),
    ),
    ...withRight('delete').map(({ name }) =>
      Type.Object({ delete: Type.Literal(name), id: Id, version: Type.Optional(Version) }, closed),
    ),
  ]
  const results = [
    ...models.map(({ name }) => ref(componentsNamed(name).row)),
    ref(ownName('Stub')),
    Type.Integer({ description: 'After a delete: the id.' }),
  ]
  const Done = Type.Object({ status: Type.Literal(0), data: Type.Array(Type.Unsafe({ anyOf: results })) })
  return {
    body: Type.Object(
      {
        data: Type.Array(Type.Unsafe({ oneOf: operations }), { minItems: 1, maxItems: MAX_OPERATIONS }),
        preview: BatchPreview,
      },
      closed,
    ),
    answer: Type.Unsafe({ anyOf: [Done, DeletePreviewSchema] }) as unknown as JsonSchema,
  }
}

const ref = (name: string) => Type.Unsafe(componentRef(name))

/** The data of an update, which names its record. */
const updateOf = (name: string) =>
  Type.Unsafe({
    allOf: [
      componentRef(name),
      { type: 'object', properties: { id: Id, version: VERSION_SCHEMA }, required: ['id', 'version'] },
    ],
  })
