import type { StorageFault } from '../../storage/storage.ts'
import type { Planned } from '../planned.ts'

/** Why a change among others was not carried out, in its own words: a step that has missed is told by what is settled. */
export async function explainFault({ settle, explain }: Planned, fault: StorageFault): Promise<unknown> {
  if (fault.kind !== 'no-row') return explain(fault)
  try {
    return await settle([])
  } catch (reason) {
    return reason
  }
}
