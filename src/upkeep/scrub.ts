import { setTimeout } from 'node:timers/promises'
import type { Secret } from '../journal/scrub.ts'
import { defineJob, type Storage } from '../storage/storage.ts'

const SCRUB = defineJob<Secret, number>(import.meta.resolve('../journal/scrub.ts'))

/**
 * A field that has become a secret is taken out of what was written down before, in portions. Which those are was noted
 * when the tables were changed. What is cut short is taken up at the next look.
 */
export async function scrub(storage: Storage, isOver = () => false): Promise<void> {
  const open = await storage.read({ sql: 'SELECT * FROM dossier_secrets WHERE done < "upTo"', parameters: [] })
  for (const secret of open as unknown as Secret[])
    for (let { done } = secret; done < secret.upTo && !isOver(); ) {
      const start = performance.now()
      done = await storage.change(SCRUB, { ...secret, done })
      await setTimeout(performance.now() - start, undefined, { ref: false })
    }
}
