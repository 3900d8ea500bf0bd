import type { User } from '../model/access.ts'

/** Columns of a user that say what they may do. */
export const RIGHTS = ['username', 'roles', 'attributes', 'rightsSince'] as const

/** A row with the columns `RIGHTS`. */
export type UserRow = { [Column in (typeof RIGHTS)[number]]?: unknown }

export const toUser = (row: UserRow): User => ({
  username: row.username as string,
  roles: JSON.parse(row.roles as string),
  attributes: JSON.parse(row.attributes as string),
  rightsSince: row.rightsSince as number,
})
