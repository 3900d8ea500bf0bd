/** Digits that a number holds exactly, and the sum up to which adding such a number stays exact. */
const SAFE_DIGITS = 15
const SAFE_SUM = Number.MAX_SAFE_INTEGER - 10 ** SAFE_DIGITS

/** Sums decimal texts exactly. Values with the same number of digits after the point are summed as whole numbers. */
export class DecimalSum {
  readonly #small: number[] = []
  readonly #large: bigint[] = []

  add(text: string): void {
    const point = text.indexOf('.')
    const scale = point < 0 ? 0 : text.length - point - 1
    const digits = point < 0 ? text : text.slice(0, point) + text.slice(point + 1)
    const sum = this.#small[scale] ?? 0
    if (digits.length <= SAFE_DIGITS && Math.abs(sum) <= SAFE_SUM) this.#small[scale] = sum + Number(digits)
    else this.#large[scale] = (this.#large[scale] ?? 0n) + BigInt(digits)
  }

  /** The sum with as many digits after the point as the longest value has. */
  toString(): string {
    const scale = Math.max(this.#small.length, this.#large.length, 1) - 1
    let sum = 0n
    for (let at = 0; at <= scale; at++)
      sum += (BigInt(this.#small[at] ?? 0) + (this.#large[at] ?? 0n)) * 10n ** BigInt(scale - at)
    return scaledText(sum, scale)
  }
}

/** A whole number of units of the given digit after the point, as text. */
function scaledText(value: bigint, scale: number): string {
  const digits = String(value < 0n ? -value : value).padStart(scale + 1, '0')
  const whole = digits.slice(0, digits.length - scale)
  return `${value < 0n ? '-' : ''}${whole}${scale > 0 ? `.${digits.slice(-scale)}` : ''}`
}

/** Digits that an average has more than the sum. */
const MORE_DIGITS = 10

/** A decimal sum divided by a count, with ten more digits after the point; the last is rounded. */
export function decimalAverage(sum: string, count: number): string {
  const [whole = '', fraction = ''] = sum.split('.')
  const scale = fraction.length + MORE_DIGITS
  const units = BigInt(whole + fraction) * 10n ** BigInt(MORE_DIGITS)
  const divisor = BigInt(count)
  const half = units < 0n ? -divisor : divisor
  return scaledText((2n * units + half) / (2n * divisor), scale)
}
