/** What a browser has kept may have been written by an earlier version, or by hand: what is not JSON is not there. */
export function parsed<Kept>(text: string | null): Kept | undefined {
  try {
    return JSON.parse(text ?? '') as Kept
  } catch {
    return undefined
  }
}
