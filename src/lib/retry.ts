import { setTimeout as sleep } from 'node:timers/promises'

const PAUSE_MS = 200

/** Runs `work` again while it fails with an error that `isRetryable` accepts, for about `ms` milliseconds in all. */
export async function retry<Result>(
  work: () => Promise<Result>,
  isRetryable: (error: unknown) => boolean,
  ms: number,
): Promise<Result> {
  const end = performance.now() + ms
  for (;;) {
    try {
      return await work()
    } catch (error) {
      if (!isRetryable(error) || performance.now() >= end) throw error
    }
    await sleep(PAUSE_MS)
  }
}
