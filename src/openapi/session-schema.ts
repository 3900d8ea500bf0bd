import { Type } from '@sinclair/typebox'
import { component } from './refs.ts'

/** A session, of oneself or of another user. */
export const SessionSchema = component(
  'Session',
  Type.Object({
    id: Type.String(),
    createdOn: Type.String(),
    lastSeen: Type.String(),
    address: Type.String(),
    current: Type.Boolean(),
  }),
)
