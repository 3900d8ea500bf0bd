import { Type } from '@sinclair/typebox'

/** Username; null if the change was made directly in the database. */
export const By = Type.Union([Type.String(), Type.Null()], { description: 'null: somebody at the database itself' })

const JOURNAL_OPERATIONS = ['create', 'update', 'delete', 'restore', 'forget']

/** Properties of every change, in the history and in the feed. */
export const ChangeProperties = {
  change: Type.Integer({ description: 'The number of the change in the whole service; it grows.' }),
  version: Type.Integer(),
  operation: Type.Unsafe<string>({ type: 'string', enum: JOURNAL_OPERATIONS }),
  by: By,
  at: Type.String(),
  batch: Type.Optional(Type.Integer({ description: 'The same number for all that one batch changed.' })),
}

/** In the feed, a record may also leave what the user may read. */
export const FeedOperation = Type.Unsafe<string>({
  type: 'string',
  enum: [...JOURNAL_OPERATIONS, 'leave'],
  description:
    '`leave`: you could read the record before, and cannot read it any more. It has no `record` and no `fields`.',
})
