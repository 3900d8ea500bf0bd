import { setTimeout as sleep } from 'node:timers/promises'
import type { Secret } from '../journal/scrub.ts'
import { defineJob, type Storage } from '../storage/storage.ts'

const SCRUB = defineJob<Secret, number>(import.meta.resolve('../journal/scrub.ts'), 'scrubSecret')

/**
 * Removes the old values of fields that have become secrets from the journal, in portions. The migration has recorded
 * these fields in `dossier_secrets`. After `isStopped` the rest waits for the next run.
 */
export async function scrub(storage: Storage, isStopped = () => false): Promise<void> {
  const open = await storage.read({ sql: 'SELECT * FROM dossier_secrets WHERE done < "upTo"', parameters: [] })
  for (const secret of open as unknown as Secret[])
    for (let { done } = secret; done < secret.upTo && !isStopped(); ) {
      const start = performance.now()
      done = await storage.runWriteJob(SCRUB, { ...secret, done })
      await sleep(performance.now() - start, undefined, { ref: false })
    }
}
