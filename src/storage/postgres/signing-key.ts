import type { Reader } from './reader.ts'

export const SECRET = 'SELECT secret FROM dossier_secret'

/** The secret that signs cookies; it has been created already. */
export async function readSecret(reader: Reader): Promise<string> {
  const row = await reader.first({ sql: SECRET, parameters: [] })
  return row?.secret as string
}
