/**
 * Decimals are stored as the text that was sent, and compared by a key: a text whose order is the order of the numbers,
 * to the last digit. JavaScript (for a value) and every engine's SQL (for a column) make the key by the same rule:
 *
 *   "1" + 40 digits before the point + digits after it without trailing zeros    for 0 and above
 *   "0" + the same with each digit turned into a letter, j for 0 to a for 9 + "~"  below 0
 *
 * Turning digits into falling letters turns the order around, and the "~" puts -1.5 behind -1.55.
 */
export const WIDTH = 40
export const LETTERS = 'jihgfedcba'

export function decimalKey(text: string): string {
  const [whole = '', fraction = ''] = text.replace('-', '').split('.')
  const digits = whole.padStart(WIDTH, '0') + fraction.replace(/0+$/, '')
  const isNegative = text.startsWith('-') && /[1-9]/.test(digits)
  return isNegative ? `0${digits.replace(/\d/g, (digit) => LETTERS[Number(digit)] as string)}~` : `1${digits}`
}

/** The number of a key, without zeros at its end. */
export function decimalFromKey(key: string): string {
  const isNegative = key.startsWith('0')
  const turned = isNegative
    ? key.slice(1, -1).replace(/[a-j]/g, (letter) => String(LETTERS.indexOf(letter)))
    : key.slice(1)
  const whole = turned.slice(0, WIDTH).replace(/^0+(?=\d)/, '')
  const fraction = turned.slice(WIDTH)
  return `${isNegative ? '-' : ''}${whole}${fraction && `.${fraction}`}`
}
