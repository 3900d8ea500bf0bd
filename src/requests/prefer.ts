export const PREFERS_MINIMAL = 'return=minimal'

/** Whether a client wants only id and version of a written record (`Prefer`, RFC 7240). The first preference counts. */
export function prefersMinimal(prefer: string | string[] | undefined): boolean {
  if (prefer === undefined) return false
  const wanted = [prefer].flat().flatMap((line) => /(?:^|[,;])\s*return\s*=\s*"?(\w+)/i.exec(line)?.[1] ?? [])
  return wanted[0]?.toLowerCase() === 'minimal'
}
