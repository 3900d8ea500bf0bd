/**
 * Decimals are stored as the text that was sent, and compared by a key: a text whose order is the order of the numbers,
 * to the last digit. The key is made by the same rule in SQL (of a column) and in JavaScript (of a value):
 *
 *   "1" + 40 digits before the point + digits after it without trailing zeros    for 0 and above
 *   "0" + the same with each digit turned into a letter, j for 0 to a for 9 + "~"  below 0
 *
 * Turning digits into falling letters turns the order around, and the "~" puts -1.5 behind -1.55.
 */
const WIDTH = 40
const LETTERS = 'jihgfedcba'

export function decimalKey(text: string): string {
  const [whole = '', fraction = ''] = text.replace('-', '').split('.')
  const digits = whole.padStart(WIDTH, '0') + fraction.replace(/0+$/, '')
  const isNegative = text.startsWith('-') && /[1-9]/.test(digits)
  return isNegative ? `0${digits.replace(/\d/g, (digit) => LETTERS[Number(digit)] as string)}~` : `1${digits}`
}

export function decimalKeySql(column: string): string {
  const absolute = `ltrim(${column}, '-')`
  const point = `instr(${absolute}, '.')`
  const whole = `iif(${point}, substr(${absolute}, 1, ${point} - 1), ${absolute})`
  const fraction = `iif(${point}, rtrim(substr(${absolute}, ${point} + 1), '0'), '')`
  const digits = `substr('${'0'.repeat(WIDTH)}' || ${whole}, -${WIDTH}) || ${fraction}`
  const turned = [...LETTERS].reduce((sql, letter, digit) => `replace(${sql}, '${digit}', '${letter}')`, digits)
  const isNegative = `${column} LIKE '-%' AND trim(${column}, '-0.') <> ''`
  return `CASE WHEN ${column} IS NULL THEN NULL WHEN ${isNegative} THEN '0' || ${turned} || '~' ELSE '1' || ${digits} END`
}
