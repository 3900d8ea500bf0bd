export interface Stored {
  id: number
  version: number
}

/** The types of a model. */
export interface DossierModel {
  /** a record as it is read: `fields` may leave out some */
  row: Stored
  /** a whole record */
  record: Stored
  create: object
  update: object
  /** filters and parameters of a find */
  query: object
  criteria: object
  history: object
}

export interface Page<Item> {
  data: Item[]
  total: number
  next?: string
}

export interface DossierOptions {
  /** a token, instead of a login */
  token?: string
  /** how often a request is repeated when the connection is lost or the service is busy; 5 if not given */
  retries?: number
  fetch?: typeof fetch
}

/** A value that another operation of a batch creates. */
export type Ref<Name extends string = string> = { $ref: string; readonly model?: Name }

/** Events of `live`: first all records, then each change. */
export type DossierEvent<Row> =
  | { type: 'load'; records: Row[] }
  | { type: 'change'; id: number; record: Row }
  | { type: 'leave'; id: number }
