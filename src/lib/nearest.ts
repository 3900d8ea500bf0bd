/** Longer words are hardly typos, and computing their distances would only cost time. */
const MAX_LENGTH = 100

/** For "did you mean": the candidate closest to a word, or undefined if none is close. */
export function nearest(word: string, candidates: Iterable<string>): string | undefined {
  let best: string | undefined
  if (word.length > MAX_LENGTH) return undefined
  // A third of the letters wrong, or two of them swapped, is a typo; more is a different word.
  let limit = (word.length <= 3 ? 1 : Math.max(2, Math.floor(word.length / 3))) + 1
  for (const candidate of candidates) {
    if (Math.abs(candidate.length - word.length) >= limit) continue
    const distance = editDistance(word.toLowerCase(), candidate.toLowerCase())
    if (distance < limit) {
      limit = distance
      best = candidate
    }
  }
  return best
}

/** ` Did you mean "x"?`, or an empty string. */
export function didYouMean(word: string, candidates: Iterable<string>): string {
  const candidate = nearest(word, candidates)
  return candidate === undefined ? '' : ` Did you mean "${candidate}"?`
}

function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, column) => column)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      const replaced = (row[j - 1] as number) + (a[i - 1] === b[j - 1] ? 0 : 1)
      next.push(Math.min(replaced, (row[j] as number) + 1, (next[j - 1] as number) + 1))
    }
    row = next
  }
  return row[b.length] as number
}
