import { Type } from '@sinclair/typebox'

/** Username; null if the change was made directly in the database. */
export const By = Type.Union([Type.String(), Type.Null()], { description: 'null: somebody at the database itself' })

/** Properties of every change, in the history and in the feed. */
export const ChangeProperties = {
  change: Type.Integer({ description: 'The number of the change in the whole service; it grows.' }),
  version: Type.Integer(),
  operation: Type.Unsafe<string>({ type: 'string', enum: ['create', 'update', 'delete', 'restore', 'forget'] }),
  by: By,
  at: Type.String(),
  batch: Type.Optional(Type.Integer({ description: 'The same number for all that one batch changed.' })),
}
