import { abortCondition, toCondition } from '../../filters/filter-sql.ts'
import { withReach } from '../../filters/reach.ts'
import { type Model, tableName, visibleFields } from '../../model/model.ts'
import type { BulkFormat, ExportOptions } from '../../requests/bulk.ts'
import type { Chunk, RowFormatter } from '../../storage/storage.ts'
import { shapesWithOrderKeys } from '../../tables/shape.ts'
import type { Caller } from '../caller.ts'
import type { RecordsContext } from '../context.ts'
import { selectedColumns } from '../find/expand.ts'
import { orderBy, sortOrder } from '../find/order.ts'
import { containsWords } from '../find/text-search.ts'
import type { FormatInput } from './format.ts'
import { namedReferences } from './reference-names.ts'

const formatter = (name: BulkFormat): RowFormatter<FormatInput> => ({
  module: import.meta.resolve(name === 'xlsx' ? './format-sheet.ts' : './format.ts'),
  name,
})

/** Exports the matching records within the user's reach as text, from one snapshot, at the speed of the reader. */
export function createExporter(context: RecordsContext, model: Model) {
  const { storage, access, exportSeconds } = context
  const shown = visibleFields(model).map(({ name }) => name)

  return function exportAll({ query, format, ...how }: ExportOptions, caller: Caller): AsyncGenerator<Chunk> {
    const { fields = shown, filter, textSearch, sort } = query
    const reach = access.reachFor(model, 'read', caller)
    const filterContext = access.contextFor(caller)
    const matching = [
      abortCondition(query, storage.dialect),
      ...(filter ? [toCondition(filter, model, filterContext)] : []),
      ...(textSearch ? [containsWords(model, textSearch, storage.dialect)] : []),
    ]
    const columns = selectedColumns(model, { fields, expand: [] })
    const named = format === 'xlsx' ? namedReferences(model, columns, filterContext) : []
    const statement = storage.db
      .selectFrom(tableName(model))
      .select([...columns, ...named.map(({ name, value }) => value.as(name))])
      .where(withReach(reach, ...matching))
      .orderBy(orderBy(sortOrder(sort, model, filterContext)))
      .compile()
    const lookedAt = [...access.modelsQueryDependsOn(model, query, caller), ...named.flatMap((one) => one.models)]
    const shapes = shapesWithOrderKeys(lookedAt, storage.dialect.tables)
    const { sql, parameters } = statement
    const searchOptions = { username: caller.username, signal: caller.signal, seconds: exportSeconds, bytes: 0, shapes }
    const input: FormatInput = { model, columns, ...how }
    return storage.streamRows({ sql, parameters }, formatter(format), input, searchOptions)
  }
}
