import { Type } from '@sinclair/typebox'

/** Who did something; nobody, if it was done at the database itself. */
export const By = Type.Union([Type.String(), Type.Null()], { description: 'null: somebody at the database itself' })

/** What is told of every change, wherever it is told. */
export const ChangeProperties = {
  change: Type.Integer({ description: 'The number of the change in the whole service; it grows.' }),
  version: Type.Integer(),
  operation: Type.Unsafe<string>({ type: 'string', enum: ['create', 'update', 'delete', 'restore', 'forget'] }),
  by: By,
  at: Type.String(),
  batch: Type.Optional(Type.Integer({ description: 'The same number for all that one batch changed.' })),
}
