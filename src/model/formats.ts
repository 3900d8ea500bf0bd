/**
 * All that the service knows of a format. A new one needs an entry in FORMATS, its name in model.schema.json, and an
 * entry in the page's lists (page/logic/model-file.ts, page/logic/keywords.ts).
 */
export interface Format {
  /** Whether a text is valid; without this function, Ajv's own check applies. */
  validate?(text: string): boolean
  /** The stored form of a valid value, so that comparing texts compares their meanings. */
  canonical?(text: string): string
  /**
   * start of the column type's name, such as `DATE` of `DATE_TEXT`, if values are compared by their meaning; changing
   * it changes the column's type
   */
  column?: string
  /** what a value in a request or cursor must be, for error messages */
  wanted: string
  /** what is said of a value in a record that is not valid */
  mustBe: string
  sample: string
}

/** Up to 40 digits on either side of the point: more than any currency needs, and a bound for order keys. */
const DECIMAL = /^-?(?:0|[1-9]\d{0,39})(?:\.\d{1,40})?$/
const DATE = /^\d{4}-\d\d-\d\d$/
const DATE_TIME = /^\d{4}-\d\d-\d\d[tT](?:[01]\d|2[0-3]):\d\d:\d\d(?:\.\d+)?(?:[zZ]|[+-]\d\d:\d\d)$/
const TIME = /^(?:[01]\d|2[0-3]):\d\d:\d\d(?:\.\d+)?(?:[zZ]|[+-]\d\d:\d\d)$/

export const FORMATS: Readonly<Record<string, Format>> = {
  email: { wanted: 'a text', mustBe: 'must be an e-mail address', sample: 'ada@example.org' },
  uri: {
    wanted: 'a text',
    mustBe: 'must be an address such as https://example.org/',
    sample: 'https://example.org/',
  },
  uuid: { wanted: 'a text', mustBe: 'must be a UUID', sample: '6ba7b810-9dad-11d1-80b4-00c04fd430c8' },
  decimal: {
    validate: (text) => DECIMAL.test(text),
    column: 'DECIMAL',
    wanted: 'a decimal number such as 12.50',
    mustBe: 'must be a decimal number such as 12.50',
    sample: '12.50',
  },
  date: {
    validate: (text) => DATE.test(text) && utcDateTime(`${text}T00:00:00Z`) !== undefined,
    column: 'DATE',
    wanted: 'a date such as 2024-02-29',
    mustBe: 'must be a date such as 2024-02-29',
    sample: '2024-02-29',
  },
  'date-time': {
    validate: (text) => DATE_TIME.test(text) && utcDateTime(text) !== undefined,
    canonical: (text) => utcDateTime(text) as string,
    column: 'DATETIME',
    wanted: 'a moment such as 2024-02-29T10:30:00Z',
    mustBe: 'must be a date and time with its offset, such as 2024-02-29T10:30:00Z',
    sample: '2024-02-29T10:30:00.000Z',
  },
  time: {
    validate: (text) => TIME.test(text) && utcTime(text) !== undefined,
    canonical: (text) => utcTime(text) as string,
    column: 'TIME',
    wanted: 'a time such as 10:30:00Z',
    mustBe: 'must be a time with its offset, such as 10:30:00Z',
    sample: '10:30:00.000Z',
  },
}

export const findFormat = (name: string | undefined): Format | undefined =>
  name !== undefined && Object.hasOwn(FORMATS, name) ? FORMATS[name] : undefined

/** Converts to UTC with milliseconds; undefined for a day that does not exist or a year outside 0000 to 9999. */
function utcDateTime(text: string): string | undefined {
  const moment = new Date(text.toUpperCase())
  if (Number.isNaN(moment.getTime())) return undefined
  const iso = moment.toISOString()
  const [day] = text.split(/[tT]/) as [string]
  // Date accepts 30 February, as 1 March.
  const exists = new Date(`${day}T00:00:00Z`).toISOString().startsWith(day)
  return exists && iso.length === 24 ? iso : undefined
}

function utcTime(text: string): string | undefined {
  return utcDateTime(`2000-01-02T${text}`)?.slice(11)
}
