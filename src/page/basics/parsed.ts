/** Parses JSON from the browser's storage; undefined if it is invalid, written by hand or by an earlier version. */
export function parsed<Kept>(text: string | null): Kept | undefined {
  try {
    return JSON.parse(text ?? '') as Kept
  } catch {
    return undefined
  }
}
