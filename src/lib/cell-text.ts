/** Reads what people write into the cells of spreadsheets, if it means only one thing. */

const YES = ['yes', 'y', 'true', 't', 'ja', 'j', 'wahr', 'oui', 'x', '1', '✓']
const NO = ['no', 'n', 'false', 'f', 'nein', 'falsch', 'non', '0']

/** Undefined if it is neither. */
export function yesOrNo(text: string): boolean | undefined {
  const word = text.toLowerCase()
  return YES.includes(word) ? true : NO.includes(word) ? false : undefined
}

/**
 * A number as people write it (`1 234,50`, `1.234,50`, `1,234.50`) with a decimal point and nothing else. Undefined if
 * it is not clear: `1,234` means one thing in one country and another in the next.
 */
export function plainNumber(typed: string, decimal?: DecimalSign): string | undefined {
  const text = typed
    .trim()
    .replace(/^\u2212/, '-')
    .replace(/(?<=\d)[ \u00a0\u202f'’](?=\d{3}(?!\d))/g, '')
  if (decimal) return numberWith(decimal, text)
  if (/^[+-]?\d{1,3}(?:,\d{3})+\.\d+$/.test(text)) return text.replaceAll(',', '')
  if (/^[+-]?\d{1,3}(?:\.\d{3})+,\d+$/.test(text)) return text.replaceAll('.', '').replace(',', '.')
  if (/^[+-]?[1-9]\d{0,2}(?:(?:\.\d{3}){2,}|(?:,\d{3}){2,})$/.test(text)) return text.replace(/[.,]/g, '')
  if (/^[+-]?[1-9]\d{0,2},\d{3}$/.test(text)) return undefined
  return /^[+-]?\d+,\d+$/.test(text) ? text.replace(',', '.') : text
}

/** Names of the decimal signs. */
export const DECIMAL_SIGNS = ['comma', 'point'] as const
export type DecimalSign = (typeof DECIMAL_SIGNS)[number]

/** A number whose signs are known: the other sign is between thousands. Undefined if it stands elsewhere. */
function numberWith(decimal: DecimalSign, text: string): string | undefined {
  const [sign, group] = decimal === 'comma' ? [',', '.'] : ['.', ',']
  const [whole = '', ...fractions] = text.split(sign)
  const isGrouped = new RegExp(`^[+-]?[1-9]\\d{0,2}(?:\\${group}\\d{3})+$`).test(whole)
  if (text.includes(group) && !(isGrouped && fractions.length < 2 && !fractions.join().includes(group)))
    return undefined
  return [whole.replaceAll(group, ''), ...fractions].join('.')
}

/** `24.12.1980`, `1980-12-24`; with slashes only if one number can only be a day: `24/12/1980`, `12/24/1980`. */
export function isoDate(text: string): string | undefined {
  const iso = /^(\d{4})-(\d\d?)-(\d\d?)$/.exec(text) as [string, string, string, string] | null
  if (iso) return validDay(iso[1], iso[2], iso[3])
  const parts = /^(\d\d?)([./])(\d\d?)\2(\d{4})$/.exec(text) as [string, string, string, string, string] | null
  if (!parts) return undefined
  const [, first, sign, second, last] = parts
  if (sign === '.' || Number(first) > 12) return validDay(last, second, first)
  return Number(second) > 12 ? validDay(last, first, second) : undefined
}

function validDay(year: string, month: string, day: string): string | undefined {
  const text = `${year}-${month.padStart(2, '0')}-${day.padStart(2, '0')}`
  const date = new Date(`${text}T00:00:00Z`)
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(text) ? text : undefined
}
