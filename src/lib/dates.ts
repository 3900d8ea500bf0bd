export const DAY_MS = 86_400_000

/** A time in milliseconds since 1970 as a date-time of ISO 8601. */
export const toIso = (time: number) => new Date(time).toISOString()

/** The day of such a time in UTC. */
export const isoDay = (time: number) => toIso(time).slice(0, 10)

/** Since this year, clocks of all zones are changed at full quarters of an hour only, and a day begins once in 24 hours. */
export const REGULAR_SINCE = '1973'
export const QUARTER_MS = 900_000
