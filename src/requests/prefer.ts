export const PREFERS_MINIMAL = 'return=minimal'

/** Whether a client wants only id and version of a written record (`Prefer`, RFC 7240). */
export function prefersMinimal(prefer: string | string[] | undefined): boolean {
  if (prefer === undefined) return false
  return [prefer].flat().some((line) => line.split(/[,;]/).some((one) => one.trim().toLowerCase() === PREFERS_MINIMAL))
}
