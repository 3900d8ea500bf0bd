import type { JsonSchema } from '../model/model.ts'
import { ownName } from './component-names.ts'

/** Marks that `documentPieces` turns into references. */

/** A reference to a schema among the components. */
export const componentRef = (name: string): JsonSchema => ({ 'x-component': name })

/** Names one of the service's own schemas, so that the document holds it once. */
export const component = <Schema extends object>(name: string, schema: Schema): Schema => ({
  ...schema,
  'x-name': ownName(name),
})
