import { Failure } from '../../errors.ts'
import type { Model } from '../../model/model.ts'
import type { Query, TextSearch } from '../../requests/query.ts'
import type { Caller } from '../caller.ts'
import type { Collections, Records } from '../records.ts'
import { createFindLimits, type Page } from './find.ts'

/** The matches of one model. */
export interface ModelMatches {
  model: string
  total: number
  data: object[]
}

interface Found {
  matches: ModelMatches[]
  /** names of models that could not be searched in time */
  unfinished: string[]
}

/**
 * Searches several models, one after the other, within the time of one find. When the answer is as large as a page may
 * be, only the totals of the other models are added.
 */
export async function searchModels(
  collections: Collections,
  models: Model[],
  { textSearch, limit, seconds }: { textSearch: TextSearch; limit: number; seconds: number },
  caller: Caller,
): Promise<Found> {
  const limits = createFindLimits(seconds)
  const found: (ModelMatches & { rank: number })[] = []
  const unfinished: string[] = []
  for (const model of models) {
    const { find } = collections.get(model) as Records
    const fields = [...new Set([...model.list, ...(model.nameField === undefined ? [] : [model.nameField])])]
    const query: Query = { offset: 0, limit: limits.bytes > 0 ? limit : 0, fields, sort: [], expand: [], textSearch }
    const page = await inTime(() => find(query, caller, limits))
    if (!page) unfinished.push(model.name)
    else if (page.total > 0) {
      const { total, data, best } = page
      found.push({ model: model.name, total, data, rank: best ?? UNRANKED })
      for (const row of data) limits.bytes -= Buffer.byteLength(JSON.stringify(row))
    }
  }
  found.sort((one, other) => one.rank - other.rank)
  return { matches: found.map(({ rank, ...matches }) => matches), unfinished }
}

/** Comes after all models whose matches are ranked. */
const UNRANKED = 3

async function inTime(find: () => Promise<Page>): Promise<Page | undefined> {
  try {
    return await find()
  } catch (error) {
    if (error instanceof Failure && error.code === 'FIND_TOO_SLOW') return undefined
    throw error
  }
}
