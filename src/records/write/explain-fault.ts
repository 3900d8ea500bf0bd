import type { Step, StorageFault } from '../../storage/storage.ts'
import { isBeyondReach, type PlannedWrite } from '../planned-write.ts'

/** Explains why one of several writes failed. If its step found no row, `toResult([])` throws the reason. */
export async function explainFault(
  { toResult, explain }: PlannedWrite,
  fault: StorageFault,
  steps: readonly Step[],
): Promise<unknown> {
  if (fault.kind !== 'no-row' || isBeyondReach(fault, steps)) return explain(fault)
  try {
    return await toResult([])
  } catch (reason) {
    return reason
  }
}
