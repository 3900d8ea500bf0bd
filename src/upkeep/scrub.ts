import { setTimeout } from 'node:timers/promises'
import type { Secret } from '../journal/scrub.ts'
import type { Models } from '../model/model.ts'
import { jobAt, type Storage } from '../storage/storage.ts'

const SCRUB = jobAt<Secret, number>(import.meta.resolve('../journal/scrub.ts'))

/**
 * A field that has become a secret is taken out of what was written down before, in portions. What is cut short is taken
 * up at the next look.
 */
export async function scrub(storage: Storage, models: Models, isOver = () => false): Promise<void> {
  const wanted = [...models.values()].flatMap(({ name, fields }) =>
    fields.filter(({ writeOnly }) => writeOnly).map((field) => ({ model: name, field: field.name })),
  )
  const isWanted = (secret: { model: string; field: string }) =>
    wanted.some(({ model, field }) => model === secret.model && field === secret.field)
  const known = storage.read({ sql: 'SELECT model, field FROM dossier_secrets', parameters: [] }) as unknown as Secret[]
  const steps = [
    ...known
      // Of a model that has no file now, there is no telling.
      .filter((secret) => models.has(secret.model) && !isWanted(secret))
      .map(({ model, field }) => ({
        sql: 'DELETE FROM dossier_secrets WHERE model = ? AND field = ?',
        parameters: [model, field],
      })),
    ...wanted.map(({ model, field }) => ({
      sql: `INSERT INTO dossier_secrets (model, field, upTo, done)
        SELECT ?, ?, coalesce(max(change), 0), coalesce(min(change), 1) - 1 FROM dossier_changes WHERE 1 = 1
        ON CONFLICT DO NOTHING`,
      parameters: [model, field],
    })),
  ]
  const isNew = wanted.some(({ model, field }) => !known.some((one) => one.model === model && one.field === field))
  if (isNew || steps.length > wanted.length) await storage.write({ steps })
  const open = storage.read({ sql: 'SELECT * FROM dossier_secrets WHERE done < upTo', parameters: [] })
  for (const secret of open as unknown as Secret[])
    for (let { done } = secret; done < secret.upTo && !isOver(); ) {
      const start = performance.now()
      done = await storage.change(SCRUB, { ...secret, done })
      await setTimeout(performance.now() - start, undefined, { ref: false })
    }
}
