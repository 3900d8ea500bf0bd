import type { Operation } from './access.ts'
import type { FieldType, JsonSchema } from './model.ts'

/** Something wrong in a model file: where, what, and what would be right. */
export interface Fault {
  file: string
  /** JSON pointer into the file; empty for the file as a whole */
  pointer: string
  message: string
}

export type Complaint = Omit<Fault, 'file'>

/** A file as it was read, before anything is known of it. */
export interface RawModel {
  file: string
  name: string
  /** of its bytes */
  hash: string
  raw: unknown
}

/** A model file that has the right shape, but is not yet known to make sense. */
export interface ModelFile {
  title?: string
  description?: string
  properties: Record<string, FieldFile>
  required?: string[]
  list?: string[]
  nameField?: string
  unique?: string[][]
  indexes?: string[][]
  audit?: boolean
  history?: boolean
  access?: Partial<Record<Operation, (string | { role: string; where: 'own' })[]>>
}

export type FieldFile = JsonSchema & {
  type: FieldType
  format?: string
  title?: string
  description?: string
  default?: unknown
  unique?: boolean
  index?: boolean
  computed?: string
  reference?: string
  onDelete?: 'restrict' | 'clear' | 'cascade'
  renamedFrom?: string
  readOnly?: boolean
  writeOnly?: boolean
}
