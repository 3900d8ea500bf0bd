import type { Model } from '../model/model.ts'
import { componentName } from './component-names.ts'

/** Descriptions in the OpenAPI document of the operations that every model has. */

interface OperationText {
  summary: (title: string) => string
  description: string
}

const OPERATION_TEXTS = {
  find: {
    summary: (title) => `Find ${title} records`,
    description: 'Returns a page of the records that match all filters. `next` is the cursor of the following page.',
  },
  search: {
    summary: (title) => `Find ${title} records by nested criteria`,
    description: 'Does the same as a find, with criteria that may be joined by `and`, `or` and `not`.',
  },
  query: {
    summary: (title) => `Find ${title} records by nested criteria, with the method QUERY`,
    description: 'Does the same as a search. It is safe, so it may be repeated.',
  },
  read: {
    summary: (title) => `Read one ${title}`,
    description: 'Returns all its fields, or those named by `fields`; with `version` as it was then.',
  },
  create: {
    summary: (title) => `Create a ${title}`,
    description: 'Returns the new record. Records that refer to it can be created with it.',
  },
  update: {
    summary: (title) => `Update a ${title}`,
    description:
      'Changes the fields that are sent, if the record still has the version that was read: `version`, or `If-Match`.',
  },
  patch: {
    summary: (title) => `Update a ${title}, with the method PATCH`,
    description: 'Does the same as an update. The body has the changed fields, as a JSON merge patch.',
  },
  delete: {
    summary: (title) => `Delete a ${title}`,
    description:
      'With a version, deletes the record only if it still has it. With `preview`, only says what would happen.',
  },
  readHistory: {
    summary: (title) => `What happened to a ${title}, the newest first`,
    description: 'Returns a page of its changes, each with the values before and after it.',
  },
  restore: {
    summary: (title) => `Bring back what a ${title} was, or one that was deleted`,
    description: 'Sets the fields of an earlier version, or brings back a deleted record under its id.',
  },
  findDeleted: {
    summary: (title) => `${title} records that were deleted and can be brought back`,
    description: 'Returns a page of them, the last deleted first.',
  },
  forget: {
    summary: (title) => `Forget what a ${title} was`,
    description: 'Erases the values of its history. That there were changes remains.',
  },
  export: {
    summary: (title) => `Export ${title} records`,
    description: 'Sends all matching records of one moment as a file.',
  },
  import: {
    summary: (title) => `Import ${title} records`,
    description: 'Checks all rows of a file, then creates or updates their records.',
  },
  aggregate: {
    summary: (title) => `Count and sum ${title} records`,
    description: 'Returns a row for each group of the matching records.',
  },
  searchAggregate: {
    summary: (title) => `Count and sum ${title} records by nested criteria`,
    description: 'Returns a row for each group of the records that match the criteria.',
  },
} satisfies Record<string, OperationText>

export type ModelOperation = keyof typeof OPERATION_TEXTS

/** The part of a route's schema that says what it does. */
export function describeOperation({ name, title }: Model, operation: ModelOperation) {
  const { summary, description } = OPERATION_TEXTS[operation] as OperationText
  const id = componentName(name)
  return {
    tags: [name],
    operationId: operation === 'readHistory' ? `read${id}History` : `${operation}${id}`,
    summary: summary(title),
    description,
  }
}
