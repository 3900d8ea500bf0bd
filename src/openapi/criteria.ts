import {
  type Field,
  fieldReference,
  isScalar,
  type JsonSchema,
  type Model,
  type Models,
  SYSTEM_FIELDS,
  visibleFields,
} from '../model/model.ts'
import { ID_OPERATORS } from '../requests/comparison.ts'
import { BODY_OPERATORS } from '../requests/operators.ts'
import { MAX_CRITERIA, MAX_VALUES } from '../requests/query.ts'
import { componentsNamed } from './component-names.ts'
import { componentRef } from './refs.ts'

/** Schemas of the criteria of a search: the names of the model's fields, with the operators that fit their types. */

const closed = { additionalProperties: false }
const object = (properties: Record<string, JsonSchema>, required: string[]): JsonSchema => ({
  type: 'object',
  properties,
  required,
  ...closed,
})
const text = (values: string[]): JsonSchema => ({ type: 'string', enum: values })

/** Names of the operators that take such values. Only `between` takes a second one, `value2`. */
const operatorNames = (...takes: string[]) =>
  [...BODY_OPERATORS].filter(([, { operator }]) => takes.includes(operator.takes)).map(([name]) => name)

/** Schema of the values that fields of a type are compared with. */
const VALUES: Record<string, JsonSchema> = {
  string: { type: 'string' },
  number: { type: 'number' },
  boolean: { type: 'boolean' },
}

/** Components of the criteria about a model's records. Models that are not described are left out. */
export function criteriaComponents(model: Model, models: Models): Record<string, JsonSchema> {
  const { criteria, criterion } = componentsNamed(model.name)
  return {
    [criteria]: {
      description: `Criteria about ${model.title} records, joined by the operator.`,
      ...object(
        {
          operator: text(['and', 'or', 'not']),
          criteria: { type: 'array', items: componentRef(criterion), maxItems: MAX_CRITERIA },
        },
        [],
      ),
    },
    [criterion]: {
      description: `A criterion about ${model.title} records, or criteria. Fields of records behind several references are reached by \`some\`.`,
      anyOf: [componentRef(criteria), ...comparisons(model, models), ...relatedCriteria(model, models)],
    },
  }
}

/** Comparisons with fields of the model, and with those of the records that it refers to. */
function comparisons(model: Model, models: Models): JsonSchema[] {
  const own = fieldsOf(model).map((field) => ({ name: field.name, field }))
  const paths = visibleFields(model).flatMap(({ name, reference }) => {
    const target = reference && models.get(reference.model)
    return target ? fieldsOf(target).map((field) => ({ name: `${name}.${field.name}`, field })) : []
  })
  const all = [...own, ...paths]
  const byType = Map.groupBy(
    all.filter(({ field }) => isScalar(field)),
    ({ field }) => (field.type === 'integer' ? 'number' : field.type),
  )
  return [
    ...[...byType].flatMap(([type, fields]) => {
      const fieldName = text(fields.map(({ name }) => name))
      const value = VALUES[type] as JsonSchema
      const single = operatorNames('one', 'two', ...(type === 'string' ? ['pattern'] : []))
      const required = ['fieldName', 'operator', 'value']
      return [
        object({ fieldName, operator: text(single), value, value2: value }, required),
        object({ fieldName, operator: text(operatorNames('many')), value: listOf(value) }, required),
      ]
    }),
    object({ fieldName: text(all.map(({ name }) => name)), operator: text(operatorNames('none')) }, [
      'fieldName',
      'operator',
    ]),
  ]
}

const listOf = (items: JsonSchema): JsonSchema => ({ type: 'array', items, minItems: 1, maxItems: MAX_VALUES })

const fieldsOf = (model: Model): Field[] => [...SYSTEM_FIELDS, ...visibleFields(model)].filter(({ links }) => !links)

/** Criteria about the records that references and inverse fields lead to. */
function relatedCriteria(model: Model, models: Models): JsonSchema[] {
  const relations = [
    ...visibleFields(model).flatMap((field) => {
      const reference = fieldReference(field)
      return reference ? [{ name: field.name, target: reference.model, isSeveral: field.links !== undefined }] : []
    }),
    ...model.inverses.map((inverse) => ({ name: inverse.name, target: inverse.model, isSeveral: true })),
  ].filter(({ target }) => models.has(target))
  const several = relations.filter(({ isSeveral }) => isSeveral).map(({ name }) => name)
  return [
    ...relations.map(({ name, target }) =>
      object(
        {
          fieldName: text([name]),
          operator: text(['some', 'none', 'count']),
          criteria: componentRef(componentsNamed(target).criterion),
          is: {
            ...text([...BODY_OPERATORS.keys()]),
            description: 'Of `count`: how the number is compared; `=` if not given.',
          },
          value: { description: 'Of `count`: the number.', anyOf: [{ type: 'integer' }, listOf({ type: 'integer' })] },
          value2: { type: 'integer' },
        },
        ['fieldName', 'operator'],
      ),
    ),
    ...(several.length === 0
      ? []
      : [
          object({ fieldName: text(several), operator: text([...ID_OPERATORS]), value: listOf({ type: 'integer' }) }, [
            'fieldName',
            'operator',
            'value',
          ]),
        ]),
  ]
}
