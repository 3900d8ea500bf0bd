import type { FormatDefinition } from 'ajv'

/** Up to 40 digits on either side of the point: more than any currency needs, and a bound for sort keys. */
const DECIMAL = /^-?(?:0|[1-9]\d{0,39})(?:\.\d{1,40})?$/
const DATE = /^\d{4}-\d\d-\d\d$/
const DATE_TIME = /^\d{4}-\d\d-\d\d[tT]\d\d:\d\d:\d\d(?:\.\d+)?(?:[zZ]|[+-]\d\d:\d\d)$/
const TIME = /^\d\d:\d\d:\d\d(?:\.\d+)?(?:[zZ]|[+-]\d\d:\d\d)$/

/** The formats that Dossier reads more strictly than JSON Schema's own: each value has one canonical form. */
export const FORMATS: Record<string, FormatDefinition<string> & { validate(text: string): boolean }> = {
  decimal: { validate: (text) => DECIMAL.test(text) },
  date: { validate: (text) => DATE.test(text) && utcDateTime(`${text}T00:00:00Z`) !== undefined },
  'date-time': { validate: (text) => DATE_TIME.test(text) && utcDateTime(text) !== undefined },
  time: { validate: (text) => TIME.test(text) && utcTime(text) !== undefined },
}

/** A valid value as it is stored: so that comparing texts is comparing moments. */
export function canonical(format: string | undefined, text: string): string {
  if (format === 'date-time') return utcDateTime(text) as string
  if (format === 'time') return utcTime(text) as string
  return text
}

/** In UTC with milliseconds; undefined for a day that does not exist or a year outside 0000 to 9999. */
function utcDateTime(text: string): string | undefined {
  const moment = new Date(text.toUpperCase())
  if (Number.isNaN(moment.getTime())) return undefined
  const iso = moment.toISOString()
  const [day] = text.split(/[tT]/) as [string]
  // Date would take 30 February for 1 March.
  const exists = new Date(`${day}T00:00:00Z`).toISOString().startsWith(day)
  return exists && iso.length === 24 ? iso : undefined
}

function utcTime(text: string): string | undefined {
  return utcDateTime(`2000-01-02T${text}`)?.slice(11)
}
