import { reachOf } from '../../model/access.ts'
import { type Model, tableOf, visibleFields } from '../../model/model.ts'
import type { ExportAsked, Format } from '../../requests/bulk.ts'
import type { Piece, TextOf } from '../../storage/storage.ts'
import { shapesOf } from '../../tables/shape.ts'
import { within } from '../../tables/access-filter.ts'
import type { Asker } from '../caller.ts'
import { columnsOf } from '../find/expand.ts'
import type { TextInput } from './format.ts'
import { orderBy } from '../find/order.ts'
import type { Surroundings } from '../context.ts'
import { aliveIn, conditionOf, modelsIn } from '../find/where.ts'

const textOf = (name: Format): TextOf<TextInput> => ({ module: import.meta.resolve('./format.ts'), name })

/** All records of a model that somebody may read and asks for, as text, of one moment; as fast as they are taken. */
export function exporterOf(surroundings: Surroundings, model: Model) {
  const { storage, models, exportSeconds } = surroundings
  const shown = visibleFields(model).map(({ name }) => name)

  return function exportAll({ query, format, delimiter, safe }: ExportAsked, asker: Asker): AsyncGenerator<Piece> {
    const { fields = shown, filter, sort } = query
    const reach = reachOf(model, 'read', asker)
    const matching = [
      aliveIn(filter, storage.dialect),
      ...(filter ? [conditionOf(filter, { models, person: asker, dialect: storage.dialect })] : []),
    ]
    const columns = columnsOf(model, { fields, expand: [] })
    const statement = storage.db
      .selectFrom(tableOf(model))
      .select(columns)
      .where(within(reach, reach.username, ...matching))
      .orderBy(orderBy(sort, storage.dialect))
      .compile()
    const shapes = shapesOf([model, ...modelsIn(filter, models)])
    const { sql, parameters } = statement
    const seeker = { username: asker.username, gone: asker.gone, seconds: exportSeconds, bytes: 0, shapes }
    return storage.walk({ sql, parameters }, textOf(format), { model, columns, delimiter, safe }, seeker)
  }
}
