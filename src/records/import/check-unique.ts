import { FULL_REACH, type Reach } from '../../filters/reach.ts'
import { SeenTexts } from '../../lib/seen-texts.ts'
import type { Field, Model } from '../../model/model.ts'
import type { Row, SqlValue } from '../../storage/storage.ts'
import { type CheckContext, type ParsedRow, withValue } from './parse-row.ts'
import { uniqueValues } from './predict-record.ts'

interface Dependencies {
  /** the whole model: unique values may be about fields that the user does not see */
  unrestricted: Model
  rejectRow(row: ParsedRow, name: string, why: string): void
  /** Returns the found rows by their index in `values`. */
  lookUp(of: Model, by: Field[], reach: Reach, names: string[], values: SqlValue[][]): Promise<Map<number, Row>>
}

/** Reports unique values that another record or another row already has. */
export function createUniqueCheck(
  { model, key }: Pick<CheckContext, 'model' | 'key'>,
  { unrestricted, rejectRow, lookUp }: Dependencies,
) {
  const unique = unrestricted.unique.map((names) => ({
    fields: names.map((name) => unrestricted.fields.find((field) => field.name === name) as Field),
    seen: new SeenTexts(),
  }))
  const seenIds = new SeenTexts()

  return async function checkUnique(rows: ParsedRow[]): Promise<void> {
    for (const row of rows) {
      const first = row.stored && seenIds.add(String(row.stored.id), row.line)
      if (first !== undefined) rejectRow(row, key as string, `is the same record as in line ${first}`)
    }
    for (const { fields, seen } of unique) {
      const lookups = rows.flatMap((row) => {
        const values = row.isWrong ? [null] : uniqueValues(row.predicted as Row, fields)
        return values.includes(null) ? [] : [{ row, values }]
      })
      const found = await lookUp(
        model,
        fields,
        FULL_REACH,
        ['id'],
        lookups.map(({ values }) => values),
      )
      const names = fields.map(({ name }) => name).filter((name) => model.fields.some((field) => field.name === name))
      const others = names.length < fields.length ? [...names, 'what you may not read'] : names
      for (const [index, { row, values }] of lookups.entries()) {
        const first = seen.add(JSON.stringify(values), row.line)
        const other = found.get(index)?.id
        const isTaken = other !== undefined && other !== row.stored?.id
        const word = fields.length > 1 ? `the combination of ${others.join(' and ')} is` : 'is'
        // All fields are ones that the user may not read: they are not named.
        if (names.length === 0 && (first !== undefined || isTaken))
          rejectRow(row, '', `what you may not read ${word} taken`)
        for (const name of names) {
          // The message quotes only sent values, never stored ones, which the user might not be allowed to read.
          const told = (why: string) => (Object.hasOwn(row.data, name) ? withValue(why, row.data[name]) : why)
          if (first !== undefined) rejectRow(row, name, told(`${word} the same as in line ${first}`))
          else if (isTaken) rejectRow(row, name, told(`${word} taken`))
        }
      }
    }
  }
}
