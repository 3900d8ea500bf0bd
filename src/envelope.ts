import { type TSchema, Type } from '@sinclair/typebox'
import { CODES, type Failure } from './errors.ts'

export interface Success<Item> {
  status: 0
  data: Item[]
}

export function success<Item>(...data: Item[]): Success<Item> {
  return { status: 0, data }
}

export function failure(failure: Failure, requestId: string) {
  const { errors, data, conflict, at } = failure.details
  return {
    status: CODES[failure.code].status,
    code: failure.code,
    message: failure.message,
    ...(errors && { errors }),
    ...(data && { data }),
    ...(conflict && { conflict }),
    ...(at !== undefined && { at }),
    requestId,
  }
}

export const SuccessSchema = <Item extends TSchema>(item: Item) =>
  Type.Object({ status: Type.Literal(0), data: Type.Array(item) })

/** Answer of an update with `merge`: `merged` names the fields that others had changed. */
export const MergedSchema = <Item extends TSchema>(item: Item) =>
  Type.Object({
    status: Type.Literal(0),
    data: Type.Array(item),
    merged: Type.Optional(Type.Array(Type.String(), { description: 'With "merge": what others had changed.' })),
  })

export const PageSchema = <Item extends TSchema>(item: Item) =>
  Type.Object({
    status: Type.Literal(0),
    offset: Type.Optional(Type.Integer()),
    total: Type.Integer(),
    next: Type.Optional(Type.String()),
    data: Type.Array(item),
  })

/** Fields that others changed since the version the request named; `clashes` names those the request also changes. */
const ConflictSchema = Type.Object({
  since: Type.Integer(),
  version: Type.Integer(),
  fields: Type.Record(
    Type.String(),
    Type.Object({
      base: Type.Optional(Type.Unknown()),
      theirs: Type.Optional(Type.Unknown()),
      mine: Type.Optional(Type.Unknown()),
      by: Type.Union([Type.String(), Type.Null()]),
      at: Type.String(),
    }),
  ),
  clashes: Type.Array(Type.String()),
})

export const FailureSchema = Type.Object(
  {
    status: Type.Integer({ maximum: -1 }),
    code: Type.String(),
    message: Type.String(),
    errors: Type.Optional(Type.Record(Type.String(), Type.String())),
    data: Type.Optional(Type.Array(Type.Unknown())),
    conflict: Type.Optional(ConflictSchema),
    at: Type.Optional(Type.Integer({ description: 'Of a batch: which operation, counted from 0.' })),
    requestId: Type.String(),
  },
  { 'x-name': 'Failure', description: 'Why something was not done.' },
)
