/** Whether `value` is a multiple of `step` in decimal: 1.13 is one of 0.01, although binary floating point says no. */
export function isMultipleOf(value: number, step: number): boolean {
  const [digits, exponent] = parseDecimal(value)
  const [stepDigits, stepExponent] = parseDecimal(step)
  const scale = Math.min(exponent, stepExponent)
  const scaled = (number: bigint, power: number) => number * 10n ** BigInt(power - scale)
  return scaled(digits, exponent) % scaled(stepDigits, stepExponent) === 0n
}

/** Digits and power of ten of a number, read from its shortest decimal text: that is the number its author wrote. */
function parseDecimal(number: number): [bigint, number] {
  const [mantissa = '', exponent = '0'] = String(number).split('e')
  const [whole = '', fraction = ''] = mantissa.split('.')
  return [BigInt(whole + fraction), Number(exponent) - fraction.length]
}
