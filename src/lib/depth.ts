/** Deeper than any sensible record, and far from overflowing the stack of a recursive function. */
export const MAX_DEPTH = 64

/** Whether a value is nested too deep. Goes level by level instead of recursing, because the value may be hostile. */
export function isTooDeep(value: unknown, max = MAX_DEPTH): boolean {
  let level = [value]
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > max) return true
    level = level.flatMap((one) => (typeof one === 'object' && one !== null ? Object.values(one) : []))
  }
  return false
}
