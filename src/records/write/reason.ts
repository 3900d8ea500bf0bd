import type { StorageFault } from '../../storage/storage.ts'
import type { PlannedWrite } from '../planned.ts'

/** Explains why one of several changes failed. If its step found no row, `toResult([])` throws the reason. */
export async function explainFault({ toResult, explain }: PlannedWrite, fault: StorageFault): Promise<unknown> {
  if (fault.kind !== 'no-row') return explain(fault)
  try {
    return await toResult([])
  } catch (reason) {
    return reason
  }
}
