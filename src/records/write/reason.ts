import type { StorageFault } from '../../storage/storage.ts'
import type { Planned } from '../planned.ts'

/** Explains why one of several changes failed. If its step found no row, `settle([])` throws the reason. */
export async function explainFault({ settle, explain }: Planned, fault: StorageFault): Promise<unknown> {
  if (fault.kind !== 'no-row') return explain(fault)
  try {
    return await settle([])
  } catch (reason) {
    return reason
  }
}
