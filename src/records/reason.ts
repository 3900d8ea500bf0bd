import type { StorageFault } from '../storage/storage.ts'
import type { Planned } from './records.ts'

/** Why a change among others was not carried out, in its own words: a step that has missed is told by what is settled. */
export function reasonOf({ settle, explain }: Planned, fault: StorageFault): unknown {
  if (fault.kind !== 'missed') return explain(fault)
  try {
    return settle([])
  } catch (reason) {
    return reason
  }
}
