import { Failure } from '../errors.ts'
import type { Step, Storage } from '../storage/storage.ts'
import { writeOrExplain } from '../storage/write-or-explain.ts'

/** Counts admins who can log in. Runs first and last in a unit: if there was one before, there must be one after. */
const ADMINS = `SELECT count(*) AS admins FROM dossier_users
  WHERE enabled = 1 AND password <> '' AND replace(roles, '"admin"', '') <> roles`

/**
 * Runs a unit, and rolls it back if no admin who can log in would be left. Returns the row of its first step, which
 * comes after the steps in `before`.
 */
export async function writeKeepingAdmin(
  storage: Pick<Storage, 'write'>,
  missed: Failure,
  [first, ...others]: Step[],
  before: Step[] = [],
) {
  const place = before.length + 1
  const steps: Step[] = [
    { sql: ADMINS, parameters: [] },
    ...before,
    { ...(first as Step), mustReturnRow: true },
    ...others,
    {
      sql: `SELECT 1 WHERE ? = 0 OR (${ADMINS}) > 0`,
      parameters: [{ step: 0, column: 'admins' }],
      mustReturnRow: true,
    },
  ]
  const rows = await writeOrExplain(
    () => storage.write({ steps, mutex: 'admins' }),
    (step) =>
      step === place
        ? missed
        : new Failure(
            'LAST_ADMIN',
            'This is the last enabled user with a password and the role admin. Give somebody else that role first.',
          ),
  )
  return rows[place]?.[0] as Record<string, unknown>
}
