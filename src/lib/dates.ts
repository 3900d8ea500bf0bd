export const DAY_MS = 86_400_000

/** A time in milliseconds since 1970 as a date-time of ISO 8601. */
export const toIso = (time: number) => new Date(time).toISOString()

/** The day of such a time in UTC. */
export const isoDay = (time: number) => toIso(time).slice(0, 10)
