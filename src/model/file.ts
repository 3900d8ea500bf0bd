import type { Operation } from './access.ts'
import type { FieldAccess, FieldType, JsonSchema } from './model.ts'
import type { LocalizedText } from './translations.ts'

/** An error in a model file. The message says what is wrong, and what would be right. */
export interface ModelFileFault {
  file: string
  /** JSON pointer into the file; empty for the whole file */
  pointer: string
  message: string
}

/** A fault without its file. */
export type FaultInFile = Omit<ModelFileFault, 'file'>

/** The content of a model file, not validated yet. */
export interface RawModel {
  file: string
  name: string
  /** SHA-256 of the file's bytes; of a module that imports other files, of these too */
  hash: string
  raw: unknown
}

/** A model file that conforms to the meta-schema; `checkFields` may still find faults. */
export interface ModelFile {
  title?: LocalizedText
  plural?: LocalizedText
  description?: LocalizedText
  properties: Record<string, FieldFile | InverseFile>
  required?: string[]
  list?: string[]
  nameField?: string
  search?: string[]
  unique?: string[][]
  indexes?: string[][]
  audit?: boolean
  history?: boolean
  access?: Partial<Record<Operation, (string | { role: string; where: 'own' | object })[]>>
}

/** The other side of a reference, as a model file declares it. */
export interface InverseFile {
  /** model and field: `crm.Person.company` */
  inverse: string
  title?: LocalizedText
  description?: LocalizedText
}

export const isInverse = (field: FieldFile | InverseFile): field is InverseFile => 'inverse' in field

/** The fields of a file that records store. */
export const storedFields = ({ properties }: Pick<ModelFile, 'properties'>): Record<string, FieldFile> =>
  Object.fromEntries(Object.entries(properties).filter((entry): entry is [string, FieldFile] => !isInverse(entry[1])))

export type FieldFile = JsonSchema & {
  type: FieldType
  format?: string
  title?: LocalizedText
  description?: LocalizedText
  /** of the values of `enum` */
  titles?: Record<string, LocalizedText>
  default?: unknown
  unique?: boolean
  index?: boolean
  computed?: string
  reference?: string
  onDelete?: 'restrict' | 'clear' | 'cascade'
  /** of an array; with a reference, the field holds the ids of several records */
  items?: JsonSchema & { reference?: string; onDelete?: 'restrict' | 'clear' }
  renamedFrom?: string
  readOnly?: boolean
  writeOnly?: boolean
  access?: FieldAccess
}
