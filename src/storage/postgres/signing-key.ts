import type { Reader } from './reader.ts'

export const SIGNING_KEY = 'SELECT secret FROM dossier_secret'

/** Reads the signing key, which has been created already. */
export async function readSigningKey(reader: Reader): Promise<string> {
  const row = await reader.first({ sql: SIGNING_KEY, parameters: [] })
  return row?.secret as string
}
