import { type Field, linkTable, type Model, tableName } from '../model/model.ts'
import type { TableColumn, TableDialect, TableState, Trigger } from '../storage/storage.ts'
import { encode } from './columns.ts'
import {
  columnComments,
  columnDefinition,
  createIndex,
  createTable,
  hasIndexName,
  type Index,
  modelIndexes,
  quote,
  storableLiteral,
} from './ddl.ts'
import { type HiddenColumn, journalTriggerNames } from './journal-triggers.ts'
import { describeLinks, type LinkChanges, linkFields, planLinks } from './links.ts'
import { fieldsWithKey, fillOrderColumns, planOrderColumns } from './order-columns.ts'
import { planRebuild, type Rebuild } from './plan-rebuild.ts'
import { findColumn, hiddenColumns, planRenames, type Rename } from './plan-renames.ts'
import { hasSameTrigger, modelTriggers } from './triggers.ts'
import { isTrigramIndex } from './trigram-index.ts'

/** The steps that bring a table in line with its model. */
export interface TablePlan {
  model: Model
  steps: PlanStep[]
  /** reasons why the change cannot be made; if there are any, no step is executed */
  refusals: string[]
  /** columns with data that no field has any more */
  hidden: HiddenColumn[]
}

export type PlanStep = { what: string } & (
  | { kind: 'create' | 'add' | 'unindex'; sql: string }
  | { kind: 'index' | 'unique'; sql: string; index: Index }
  | { kind: 'rename'; sql: string; from: string; to: string }
  | { kind: 'rebuild'; rebuild: Rebuild }
  | { kind: 'fill'; sql: string }
  | { kind: 'sort-keys'; statements: string[] }
  | { kind: 'links'; links: LinkChanges }
  /** has no SQL: `requiredTriggers` determines the triggers of all tables together */
  | { kind: 'triggers' }
)

/** With more records than this, filling a new column would block other writes for too long: the table is rebuilt. */
export const MAX_ROWS_TO_FILL = 10_000

/** Compares a model with its table; a pure function. Columns without a field are kept, hidden. */
export function planTable(
  model: Model,
  table: TableState | undefined,
  triggers: Trigger[],
  dialect: TableDialect,
  secrets: string[] = [],
): TablePlan {
  if (!table) {
    const create: PlanStep = { kind: 'create', what: 'create the table', sql: createTable(model, dialect) }
    const links = planLinks(model, [], [], [], [])
    return {
      model,
      steps: [create, ...planIndexes(model, [], dialect), ...linkSteps(links, model, 0)],
      refusals: checkNameLengths(model, dialect),
      hidden: [],
    }
  }
  if (!isModelTable(table)) {
    const why = `The table ${table.name} exists already, and is not that of a model. Choose another name.`
    return { model, steps: [], refusals: [why], hidden: [] }
  }
  const { renames, takeovers } = planRenames(model, table)
  const columns = applyRenames(table.columns, renames)
  const additions = model.fields.filter((field) => !findColumn(field, columns))
  const hasValues = (field: Field) => field.default !== undefined || (field.computed && dialect.storesComputed)
  const isLarge = table.rows > MAX_ROWS_TO_FILL
  const fills = isLarge ? additions.filter(hasValues) : []
  const keys = planOrderColumns(model, table.columns, renames, dialect)
  const sorted = isLarge ? keys.toFill : []
  const links = planLinks(model, table.links, columns, renames, takeovers)
  const linked = links.create.filter((field) => findColumn(field, columns))
  const rebuild = planRebuild(model, table, columns, { takeovers, fills, sorted, linked, isLarge, dialect })
  const hidden = hiddenColumns(model, columns)
    .filter(({ name }) => !takeovers.some(({ from }) => from === name))
    .map(({ name, type }) => ({ name, type, isSecret: secrets.includes(name) }))
  const steps: PlanStep[] = [
    ...renames.map((rename) => renameColumn(rename, model)),
    // A rebuilt table has all new columns from the start.
    ...(rebuild
      ? [{ kind: 'rebuild' as const, ...rebuild }]
      : [
          ...additions.flatMap((field) => addColumn(field, model, table.rows, dialect)),
          ...planOrderKeys(keys, model, table.rows),
        ]),
    ...planIndexes(model, rebuild ? [] : table.indexes.map(({ name }) => name), dialect),
    ...linkSteps(links, model, table.rows),
  ]
  return {
    model,
    // If there are other steps, `apply.ts` renews the triggers anyway.
    steps: steps.length > 0 ? steps : planTriggers(model, triggers, dialect, hidden),
    refusals: [
      ...checkAdditions(additions, model, table),
      ...checkSpellings(model, table, columns),
      ...checkColumnCount(model, hidden, dialect),
      ...checkNameLengths(model, dialect),
    ],
    hidden,
  }
}

/** Whether a table has the columns that every model's table has. A link table has not. */
export const isModelTable = ({ columns }: TableState) =>
  ['id', 'version'].every((name) => columns.some((column) => column.name === name))

function applyRenames(columns: TableColumn[], renames: Rename[]): TableColumn[] {
  return columns.map((column) => ({
    ...column,
    name: renames.find(({ from }) => from === column.name)?.to ?? column.name,
  }))
}

function renameColumn({ from, to }: Rename, model: Model): PlanStep {
  const sql = `ALTER TABLE ${quote(tableName(model))} RENAME COLUMN ${quote(from)} TO ${quote(to)}`
  return { kind: 'rename', what: `rename ${from} to ${to}`, from, to, sql }
}

/** Existing records get the default once. The column has no DEFAULT, which would outlive the field. */
function addColumn(field: Field, model: Model, rows: number, dialect: TableDialect): PlanStep[] {
  const table = quote(tableName(model))
  const added = `ALTER TABLE ${table} ADD COLUMN ${columnDefinition(field, model, dialect)}`
  const sql = [added, ...columnComments(field, model, dialect)].join('; ')
  const add: PlanStep = { kind: 'add', what: `add the column ${field.name}`, sql }
  if (field.default === undefined || rows === 0) return [add]
  const value = storableLiteral(field, encode(field, field.default))
  const fill = `UPDATE ${table} SET ${quote(field.name)} = ${value}`
  return [add, { kind: 'fill', what: `fill in the default of ${field.name} (${rows} records)`, sql: fill }]
}

/** Adds the columns of order keys and fills them. */
function planOrderKeys({ alter, toFill }: ReturnType<typeof planOrderColumns>, model: Model, rows: number): PlanStep[] {
  const names = toFill.map(({ name }) => name)
  const fill = names.length > 0 && rows > 0 ? [fillOrderColumns(tableName(model), names)] : []
  const statements = [...alter, ...fill]
  const what =
    names.length > 0 ? `sort ${names.join(', ')} by folded text (${rows} records)` : 'tidy up the columns of sort keys'
  return statements.length > 0 ? [{ kind: 'sort-keys', what, statements }] : []
}

function linkSteps(links: LinkChanges, model: Model, rows: number): PlanStep[] {
  const what = describeLinks(links, model, rows).join('; ')
  return what === '' ? [] : [{ kind: 'links', what, links }]
}

/** Drops only indexes with our naming; an index that an operator created stays. */
function planIndexes(model: Model, existing: string[], dialect: TableDialect): PlanStep[] {
  const wanted = modelIndexes(model, dialect)
  const stale = existing.filter(
    (name) =>
      name.startsWith(`${tableName(model)}__`) &&
      !isTrigramIndex(name) &&
      !wanted.some((index) => hasIndexName(index, name)),
  )
  return [
    ...stale.map(
      (name): PlanStep => ({ kind: 'unindex', what: `drop the index ${name}`, sql: `DROP INDEX ${quote(name)}` }),
    ),
    ...wanted
      .filter((index) => !existing.some((name) => hasIndexName(index, name)))
      .map((index): PlanStep => {
        const sql = createIndex(index, model, dialect)
        const names = index.fields.join(', ')
        return index.unique
          ? { kind: 'unique', what: `make ${names} unique`, sql, index }
          : { kind: 'index', what: `index ${names}`, sql, index }
      }),
  ]
}

/** Triggers are missing if the model's file was removed and came back, and differ if for example `onDelete` changed. */
function planTriggers(model: Model, existing: Trigger[], dialect: TableDialect, hidden: HiddenColumn[]): PlanStep[] {
  if (!model.history && existing.some(({ name }) => journalTriggerNames(tableName(model)).includes(name)))
    return [{ kind: 'triggers', what: 'end the history: further changes are not recorded' }]
  if (modelTriggers(model, dialect, hidden).every((wanted) => hasSameTrigger(wanted, existing))) return []
  return [{ kind: 'triggers', what: 'renew what happens when records change' }]
}

function checkAdditions(additions: Field[], model: Model, { rows }: TableState): string[] {
  return additions
    .filter((field) => field.required && field.default === undefined && rows > 0)
    .map(
      ({ name }) =>
        `The new field "${name}" is required, but the ${rows} ${model.name} records that exist have no value for it. Give it a "default".`,
    )
}

function checkSpellings(model: Model, table: TableState, columns: TableColumn[]): string[] {
  const fields = model.fields.flatMap((field) => {
    const column = findColumn(field, columns)
    if (!column || column.name === field.name) return []
    return [
      `The field "${field.name}" differs from its column "${column.name}" only in case. Keep the earlier spelling, or say "renamedFrom": "${column.name}".`,
    ]
  })
  if (table.name === tableName(model)) return fields
  const earlier = table.name.replaceAll('__', '.')
  return [`The name differs from that of ${earlier}, whose table exists, only in case. Keep the earlier spelling.`]
}

function checkColumnCount(model: Model, hidden: HiddenColumn[], dialect: TableDialect): string[] {
  const { maxColumns } = dialect
  const count = 2 + model.fields.length + hidden.length + fieldsWithKey(model, dialect).length
  if (count <= maxColumns) return []
  return [
    `With its ${hidden.length} hidden columns the table would have ${count}, and at most ${maxColumns} are possible.`,
  ]
}

/** PostgreSQL truncates long names, so that two different names could become one. */
function checkNameLengths(model: Model, dialect: TableDialect): string[] {
  const { maxNameBytes } = dialect
  if (maxNameBytes === Number.POSITIVE_INFINITY) return []
  const names = [
    tableName(model),
    ...model.fields.map(({ name }) => name),
    ...modelIndexes(model, dialect).map(({ name }) => name),
  ]
  // The triggers that `unservedTriggers` creates if the file is removed; foreign key names (`__refers`) are shorter.
  const keys = model.fields
    .filter(({ reference }) => reference)
    .map(({ name }) => `${tableName(model)}__${name}__unserved`)
  const links = linkFields(model).map((field) => `${linkTable(model, field)}__target__refers`)
  const long = [...names, ...keys, ...links, ...modelTriggers(model, dialect).map(({ name }) => name)].filter(
    (name) => name.length > maxNameBytes,
  )
  return long.map(
    (name) => `"${name}" has more than ${maxNameBytes} characters. Shorten the model's or the fields' names.`,
  )
}
