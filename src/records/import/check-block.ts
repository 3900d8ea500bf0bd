import { CompiledQuery } from 'kysely'
import type { Failure } from '../../errors.ts'
import { createAccess } from '../../filters/access.ts'
import { usesInverse } from '../../filters/filter-sql.ts'
import type { Reach } from '../../filters/reach.ts'
import { areStatesWithin, NEW_ID } from '../../filters/states-within-reach.ts'
import { outOfReachFailure, reachesOwned, scopeFor } from '../../model/access.ts'
import {
  type Field,
  fieldReference,
  ID_FIELD,
  isOfType,
  type Model,
  type Models,
  type Reference,
  unrestrictedModel,
} from '../../model/model.ts'
import type { Database, Row, SqlValue, Statement } from '../../storage/storage.ts'
import { createRowDecoder, encode, encodeComparable } from '../../tables/columns.ts'
import { MAX_CELL_TEXT } from '../../xlsx/write-workbook.ts'
import { idsIn } from '../write/links.ts'
import { createValidators, type Validators } from '../write/validate.ts'
import { createUniqueCheck } from './check-unique.ts'
import type { ImportColumn } from './columns.ts'
import { matchingRows } from './matching-rows.ts'
import { type CheckContext, createRowParser, type ParsedRow, type ReportFault, withValue } from './parse-row.ts'
import { createRecordPredictor } from './predict-record.ts'
import type { FileRow } from './read-rows.ts'

/** A valid row, and how it changes the records. */
export interface ValidRow {
  line: number
  kind: 'created' | 'updated' | 'unchanged'
  data: Row
  /** the existing record, and the version that the row was compared with */
  id?: number
  version?: number
  /** the row itself names the version, so no other version may be changed */
  isStrict?: boolean
}

/** The record of a row, as far as it is known before it is written. */
const predictedState = (state: Row, stored: Row | undefined, now: string): Row => ({
  ...state,
  createdOn: state.createdOn ?? now,
  updatedOn: now,
  id: stored?.id ?? NEW_ID,
  version: stored ? (stored.version as number) + 1 : 0,
})

/** An exported spreadsheet has only the beginning of a long text. */
const isCut = (text: unknown, stored: unknown) =>
  typeof text === 'string' &&
  text.length === MAX_CELL_TEXT &&
  text.endsWith('…') &&
  String(stored).startsWith(text.slice(0, -1))

/** Spreadsheets drop the last zeros of `12.50`, so decimal numbers are compared as such. */
function isSameValue(field: Field, value: unknown, stored: unknown): boolean {
  const encoded = encode(field, value)
  if (isCut(encoded, stored)) return true
  if (field.format !== 'decimal' || encoded === null || stored === null) return encoded === stored
  return encodeComparable(field, value) === encodeComparable(field, stored)
}

const unrestrictedModels = (models: Models): Models =>
  new Map([...models].map(([name, model]) => [name, unrestrictedModel(model)]))

/** Checks blocks of some hundred rows as a create or an update would, and compares the rows with each other. */
export function createBlockChecker(db: Database, checking: CheckContext, reportFault: ReportFault) {
  const { model, models, user, key } = checking
  const checks: Validators = createValidators(model)
  const { parseRow, rejectRow } = createRowParser(checking, reportFault)
  const keyField = key === undefined ? undefined : [ID_FIELD, ...model.fields].find(({ name }) => name === key)
  const writable = model.fields.filter(({ readOnly }) => !readOnly)
  const referenceFields = writable.filter(fieldReference)
  /** rules and unique values may be about fields that the user does not see */
  const unrestricted = unrestrictedModel(model)
  const decode = createRowDecoder(unrestricted)
  const predict = createRecordPredictor(db, unrestricted, user, writable)
  const access = createAccess(unrestrictedModels(models), db).forVisibleModels(models)
  const readable = access.reachFor(model, 'read', user)
  /** ids of records that the user may read, where the model has rules of rows */
  let readableIds = new Set<unknown>()
  const mayKnow = ({ id, createdBy }: Row) =>
    readable.scope === 'some' ? readableIds.has(id) : reachesOwned(readable.scope, user, createdBy)
  const mayCreate = scopeFor(model, 'create', user) !== 'none'
  const checkUnique = createUniqueCheck(checking, { unrestricted, rejectRow, lookUp })

  return async function check(rows: FileRow[]): Promise<ValidRow[]> {
    const parsed = rows.map(parseRow)
    await resolveNames(parsed)
    await findStored(parsed)
    for (const row of parsed) await validateRow(row)
    await checkReferences(parsed)
    // Before `checkUnique`, because whether a value is taken may be about records that the user does not see.
    await checkOutcomes(parsed)
    await checkUnique(parsed)
    return parsed.filter(({ isWrong }) => !isWrong).map(toValidRow)
  }

  /** Resolves a column such as `company.name` to the id of the company with that name, if the user may read it. */
  async function resolveNames(rows: ParsedRow[]): Promise<void> {
    const all = rows.flatMap((row) => row.named.map((one) => ({ row, ...one })))
    for (const [column, some] of Map.groupBy(all, (one) => one.column)) {
      const { field, target, by } = column as Extract<ImportColumn, { target: Model }>
      const reach = access.reachFor(target, 'read', user)
      const given = some.flatMap(({ row, value }) => [value].flat().map((one) => ({ row, one })))
      const values = given.map(({ one }) => [encodeComparable(by, one)])
      const found = await lookUp(target, [by], reach, ['id'], values)
      for (const { row } of some) row.data[field.name] = field.links ? [] : undefined
      for (const [index, { row, one }] of given.entries()) {
        const id = found.get(index)?.id
        if (id === undefined)
          rejectRow(row, `${field.name}.${by.name}`, withValue(`there is no ${target.name} of this name`, one))
        else if (field.links) (row.data[field.name] as unknown[]).push(id)
        else row.data[field.name] = id
      }
    }
  }

  /** Finds the records that the rows update, by the key field. */
  async function findStored(rows: ParsedRow[]): Promise<void> {
    if (!keyField) return
    const keyed = rows.flatMap((row) => {
      const value = keyField === ID_FIELD ? row.id : row.data[keyField.name]
      return isOfType(keyField, value) && !row.isWrong ? [{ row, value }] : []
    })
    const names = ['id', 'version', ...unrestricted.fields.filter((field) => !field.computed).map(({ name }) => name)]
    const values = keyed.map(({ value }) => [encodeComparable(keyField, value)])
    const found = await lookUp(model, [keyField], access.reachFor(model, 'update', user), names, values)
    for (const [index, { row, value }] of keyed.entries()) {
      const stored = found.get(index)
      if (stored) row.stored = stored
      else if (keyField === ID_FIELD) rejectRow(row, 'id', withValue(`there is no ${model.name} with this id`, value))
      if (stored && row.version !== null && row.version !== stored.version)
        rejectRow(row, 'version', `is ${stored.version} by now, and not ${row.version}`)
    }
    if (readable.scope === 'some') await findReadable(rows)
    for (const row of rows)
      if (!row.stored && !row.isWrong && !mayCreate)
        rejectRow(row, keyField.name, `there is no such record, and you may not create ${model.name} records`)
  }

  async function findReadable(rows: ParsedRow[]): Promise<void> {
    const ids = rows.flatMap(({ stored }) => (stored ? [[stored.id as number]] : []))
    const found = await lookUp(model, [ID_FIELD], readable, ['id'], ids)
    readableIds = new Set([...found.values()].map(({ id }) => id))
  }

  /** Refuses rows whose records would be out of reach. The transaction that writes them checks it again. */
  async function checkOutcomes(rows: ParsedRow[]): Promise<void> {
    const now = new Date().toISOString()
    for (const operation of ['create', 'update'] as const) {
      const reach = access.reachFor(model, operation, user)
      const some = rows.filter(({ isWrong, stored }) => !isWrong && (stored === undefined) === (operation === 'create'))
      // Rules about records that refer to this one may depend on other rows.
      const isKnown = reach.scope === 'some' && !reach.filters.some(usesInverse)
      if (!isKnown || some.length === 0) continue
      const states = some.map(({ predicted: state, stored }) => predictedState(state as Row, stored, now))
      const parts = { storage: { read, db }, models: access.models }
      const within = await areStatesWithin(reach, states, unrestricted, parts)
      for (const [index, row] of some.entries())
        if (!within[index]) rejectRow(row, '', outOfReachFailure(model, operation).message)
    }
  }

  async function read({ sql, parameters }: Statement): Promise<Row[]> {
    return (await db.executeQuery<Row>(CompiledQuery.raw(sql, [...parameters]))).rows
  }

  /** Validates a copy, because Ajv fills in defaults, which must not be written if the row becomes an update later. */
  async function validateRow(row: ParsedRow): Promise<void> {
    if (row.isWrong) return
    const { data, stored } = row
    // In a new record, null in a required field counts as missing: it gets its default or the error "is required".
    if (!stored) for (const { name, required } of writable) if (required && data[name] === null) delete data[name]
    const filled = structuredClone(data)
    try {
      if (stored) checks.update(Object.assign(filled, { version: stored.version }))
      else checks.create(filled)
    } catch (error) {
      // A check throws only a `Failure` with `errors`.
      const { errors } = (error as Failure).details
      for (const [name, why] of Object.entries(errors as Record<string, string>))
        rejectRow(row, name, Object.hasOwn(data, name) ? withValue(why, data[name]) : why)
      return
    }
    row.predicted = await predict(filled, stored)
  }

  async function checkReferences(rows: ParsedRow[]): Promise<void> {
    for (const field of referenceFields) {
      const { name } = field
      const target = models.get((fieldReference(field) as Reference).model) as Model
      const newReferences = rows.flatMap((row) => {
        const { predicted: now, data, stored, isWrong } = row
        if (isWrong || (stored && !Object.hasOwn(data, name))) return []
        // Users who may read the record may send its references back unchecked; others could find them out by trying
        // ids.
        const currentIds =
          stored && mayKnow(stored) && !field.writeOnly ? idsIn(field, decode({ ...stored })[name]) : []
        return idsIn(field, now?.[name])
          .filter((id) => !currentIds.includes(id))
          .map((id) => ({ row, id }))
      })
      const ids = [...new Set(newReferences.map(({ id }) => id))]
      const values = ids.map((id) => [id])
      const found = await lookUp(target, [ID_FIELD], access.reachFor(target, 'read', user), ['id'], values)
      const missing = new Set(ids.filter((_, index) => !found.has(index)))
      for (const { row, id } of newReferences)
        if (missing.has(id)) rejectRow(row, name, `there is no ${target.name} with the id ${id}`)
    }
  }

  function toValidRow({ line, data, stored, version }: ParsedRow): ValidRow {
    if (!stored) return { line, kind: 'created', data }
    // Secrets, and records that the user may not read, never count as unchanged: that would confirm a guessed value.
    const isSame = (field: Field) =>
      !Object.hasOwn(data, field.name) || (!field.writeOnly && isSameValue(field, data[field.name], stored[field.name]))
    const { id, version: current } = stored as { id: number; version: number }
    if (mayKnow(stored) && writable.every(isSame)) return { line, kind: 'unchanged', data: {} }
    return { line, kind: 'updated', data, id, version: current, isStrict: version !== null }
  }

  /** Returns the found rows by their index in `values`. */
  async function lookUp(of: Model, by: Field[], reach: Reach, names: string[], values: SqlValue[][]) {
    if (values.length === 0) return new Map<number, Row>()
    const { rows } = await db.executeQuery<Row>(matchingRows(db, of, { reach, by, values, columns: names }))
    return new Map(rows.map((row) => [row.wanted__key as number, row]))
  }
}
