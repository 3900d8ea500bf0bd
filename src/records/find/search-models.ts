import type { Model } from '../../model/model.ts'
import type { TextSearch } from '../../requests/query.ts'
import { rowBytes } from '../../storage/size.ts'
import type { Caller } from '../caller.ts'
import type { Records } from '../records.ts'
import { newLimits } from './find.ts'

/** The matches of one model. */
export interface ModelMatches {
  model: string
  total: number
  data: object[]
}

/** Searches several models, one after the other, within the time and the size of one find. */
export async function searchModels(
  collections: ReadonlyMap<Model, Records>,
  models: Model[],
  { search, limit, seconds }: { search: TextSearch; limit: number; seconds: number },
  caller: Caller,
): Promise<ModelMatches[]> {
  const limits = newLimits(seconds)
  const found: (ModelMatches & { rank: number })[] = []
  for (const model of models) {
    const query = { offset: 0, limit, sort: [], expand: [], search }
    const { find } = collections.get(model) as Records
    const { total, data, best } = await find(query, caller, limits)
    if (total > 0) found.push({ model: model.name, total, data, rank: Number(best ?? UNRANKED) })
    for (const row of data) limits.bytes = Math.max(0, limits.bytes - rowBytes(row))
  }
  found.sort((one, other) => one.rank - other.rank)
  return found.map(({ rank, ...matches }) => matches)
}

/** Comes after all models whose matches are ranked. */
const UNRANKED = 3
