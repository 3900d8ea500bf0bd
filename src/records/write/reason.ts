import type { StorageFault } from '../../storage/storage.ts'
import type { Planned } from '../records.ts'

/** Why a change among others was not carried out, in its own words: a step that has missed is told by what is settled. */
export async function reasonOf({ settle, explain }: Planned, fault: StorageFault): Promise<unknown> {
  if (fault.kind !== 'missed') return explain(fault)
  try {
    return await settle([])
  } catch (reason) {
    return reason
  }
}
