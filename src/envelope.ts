import { type TSchema, Type } from '@sinclair/typebox'
import { CODES, type Code, type Failure } from './errors.ts'

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
const ConflictSchema = Type.Object(
  {
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
  },
  { 'x-name': 'DossierConflict', description: 'What others changed since the version that the request named.' },
)

export const FailureSchema = Type.Object(
  {
    status: Type.Integer({ maximum: -1 }),
    code: Type.Unsafe<Code>({ type: 'string', enum: Object.keys(CODES), 'x-name': 'DossierCode' }),
    message: Type.String({ description: 'One sentence that says what to do.' }),
    errors: Type.Optional(Type.Record(Type.String(), Type.String(), { description: 'One message per field.' })),
    data: Type.Optional(Type.Array(Type.Unknown(), { description: 'On a version conflict: the record as it is now.' })),
    conflict: Type.Optional(ConflictSchema),
    at: Type.Optional(Type.Integer({ description: 'Of a batch: which operation, counted from 0.' })),
    requestId: Type.String(),
  },
  { 'x-name': 'DossierFailure', description: 'Why something was not done.' },
)

/** Media type of failures for clients that ask for it (RFC 9457). */
export const PROBLEM_TYPE = 'application/problem+json'

/** Renders a failure as a problem of RFC 9457: its own members, and all that the envelope has. */
export function problem(given: Failure, requestId: string) {
  const { status, ...others } = failure(given, requestId)
  return {
    type: 'about:blank',
    title: given.code,
    status: given.http,
    detail: given.message,
    ...others,
    dossierStatus: status,
  }
}

const { status: _, ...FAILURE_PROPERTIES } = FailureSchema.properties

export const ProblemSchema = Type.Object(
  {
    type: Type.String(),
    title: Type.String({ description: 'The code.' }),
    status: Type.Integer({ description: 'The HTTP status.' }),
    detail: Type.String({ description: 'The message.' }),
    ...FAILURE_PROPERTIES,
    dossierStatus: Type.Integer({ maximum: -1, description: '`status` of the envelope.' }),
  },
  { 'x-name': 'DossierProblem', description: 'Why something was not done, as RFC 9457 has it.' },
)
