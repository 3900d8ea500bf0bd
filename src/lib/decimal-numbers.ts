/** Whether a number is a multiple of another, as decimals: 1.13 is one of 0.01, whatever binary fractions make of it. */
export function isMultipleOf(value: number, step: number): boolean {
  const [digits, exponent] = parseDecimal(value)
  const [stepDigits, stepExponent] = parseDecimal(step)
  const scale = Math.min(exponent, stepExponent)
  const scaled = (number: bigint, power: number) => number * 10n ** BigInt(power - scale)
  return scaled(digits, exponent) % scaled(stepDigits, stepExponent) === 0n
}

/** A number as digits and a power of ten: what is printed of it is what was meant. */
function parseDecimal(number: number): [bigint, number] {
  const [mantissa = '', exponent = '0'] = String(number).split('e')
  const [whole = '', fraction = ''] = mantissa.split('.')
  return [BigInt(whole + fraction), Number(exponent) - fraction.length]
}
