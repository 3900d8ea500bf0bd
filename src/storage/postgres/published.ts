import type { LatestModels, PublishedModels } from '../storage.ts'
import type { Reader } from './reader.ts'

const GENERATION = 'SELECT coalesce(max(generation), 0) AS generation FROM dossier_models'
const LATEST = 'SELECT generation, fingerprint, models FROM dossier_models ORDER BY generation DESC LIMIT 1'
const KNOWN = 'SELECT 1 FROM dossier_models WHERE fingerprint = ? LIMIT 1'

/** The models that nodes have published. A change of tables stores them in the same transaction. */
export const createPublished = (reader: Reader): PublishedModels => ({
  generation: async () => (await reader.first({ sql: GENERATION, parameters: [] }))?.generation as number,
  latest: async () => (await reader.first({ sql: LATEST, parameters: [] })) as LatestModels | undefined,
  isKnown: async (fingerprint) => (await reader.first({ sql: KNOWN, parameters: [fingerprint] })) !== undefined,
})
