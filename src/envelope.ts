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
  const { errors, data } = failure.details
  return {
    status: CODES[failure.code].status,
    code: failure.code,
    message: failure.message,
    ...(errors && { errors }),
    ...(data && { data }),
    requestId,
  }
}

export const SuccessOf = <Item extends TSchema>(item: Item) =>
  Type.Object({ status: Type.Literal(0), data: Type.Array(item) })

export const PageOf = <Item extends TSchema>(item: Item) =>
  Type.Object({
    status: Type.Literal(0),
    offset: Type.Optional(Type.Integer()),
    total: Type.Integer(),
    next: Type.Optional(Type.String()),
    data: Type.Array(item),
  })

export const FailureSchema = Type.Object(
  {
    status: Type.Integer({ maximum: -1 }),
    code: Type.String(),
    message: Type.String(),
    errors: Type.Optional(Type.Record(Type.String(), Type.String())),
    data: Type.Optional(Type.Array(Type.Unknown())),
    requestId: Type.String(),
  },
  { 'x-name': 'Failure', description: 'Why something was not done.' },
)
