import { type RawBuilder, sql } from 'kysely'
import { orderKey } from '../../lib/order-key.ts'
import type { Field, Model, Template } from '../../model/model.ts'
import { templateFields } from '../../model/template.ts'
import type { Row, TableDialect } from '../../storage/storage.ts'
import { computedValueSql } from '../../tables/computed.ts'
import { fieldsWithKey, orderColumn } from '../../tables/order-columns.ts'

/** The order keys that are written with a record, where they have columns; see `tables/order-columns.ts`. */
export function createOrderKeys(model: Model, dialect: TableDialect) {
  const fields = fieldsWithKey(model, dialect)
  const stored = fields.filter((field) => !field.computed)
  const computed = fields.filter((field) => field.computed)
  const sources = ({ computed: template }: Field) => templateFields(template as Template)

  return {
    /** columns of the keys that `values` has */
    columns: stored.map(({ name }) => orderColumn(name)),

    /** Adds the keys of the texts among the values. */
    addTo(values: Row): Row {
      for (const { name } of stored)
        if (Object.hasOwn(values, name)) values[orderColumn(name)] = keyFor(values[name] as string | null)
      return values
    },

    /** SQL for the keys of computed texts that change with these columns; `newValue` is the new value of a column. */
    computedFrom(
      names: string[],
      newValue: (name: string) => RawBuilder<unknown>,
    ): Record<string, RawBuilder<unknown>> {
      const changed = computed.filter((field) => sources(field).some((name) => names.includes(name)))
      const keys = changed.map((field) => [
        orderColumn(field.name),
        sql`dossier_order_key(${computedValueSql(field, model, dialect, newValue)})`,
      ])
      return Object.fromEntries(keys)
    },
  }
}

const keyFor = (text: string | null) => (text === null ? null : orderKey(text))
