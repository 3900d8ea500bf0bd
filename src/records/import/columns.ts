import { didYouMean } from '../../lib/nearest.ts'
import { type Field, fieldReference, isUniqueField, type Model, type Models, SYSTEM_FIELDS } from '../../model/model.ts'
import { fieldOfHeading } from '../headings.ts'
import { CellFault } from './parse-cell.ts'

/** The meaning of a column in an import. */
export type ImportColumn =
  | { field: Field; target?: never; by?: never }
  /** a reference, or several, by the unique field `by` of the referenced model */
  | { field: Field; target: Model; by: Field }
  /** a read-only field, ignored as in all requests: the service sets it */
  | { ignored: true }

/** Parses a column name: a field, or for example `company.name`, a reference by a unique field of its model. */
export function parseColumn(name: string, model: Model, models: Models): ImportColumn | CellFault {
  const [first = '', second, ...more] = name.split('.')
  const field = [...SYSTEM_FIELDS, ...model.fields].find((one) => one.name === first)
  if (!field || more.length > 0) {
    const titled = fieldOfHeading(model, name)
    if (titled) return headingColumn(titled, models)
    const fieldNames = ['id', 'version', ...model.fields.map((one) => one.name)]
    return new CellFault(`is not a known field.${didYouMean(first, fieldNames)}`)
  }
  if (second !== undefined) return namedColumn(field, second, models)
  return ownColumn(field)
}

/** A heading of an exported spreadsheet. Records that are referred to are named below it, not given by id. */
function headingColumn(field: Field, models: Models): ImportColumn | CellFault {
  const target = models.get(fieldReference(field)?.model as string)
  if (!target || field.links || target.nameField === undefined || field.readOnly) return ownColumn(field)
  return namedColumn(field, target.nameField, models)
}

const ownColumn = (field: Field): ImportColumn =>
  field.readOnly && !SYSTEM_FIELDS.includes(field) ? { ignored: true } : { field }

function namedColumn(field: Field, second: string, models: Models): ImportColumn | CellFault {
  const reference = fieldReference(field)
  if (!reference) return new CellFault(`"${field.name}" is no reference, so there is nothing after a point`)
  const target = models.get(reference.model) as Model
  const by = target.fields.find(({ name }) => name === second)
  if (!by || by.writeOnly || !isUniqueField(target, second))
    return new CellFault(`"${second}" is no unique field of ${target.name}: which record is meant is not clear`)
  return { field, target, by }
}
