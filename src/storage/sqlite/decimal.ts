import { LETTERS, WIDTH } from '../decimal.ts'

/** SQL for the key (see `storage/decimal.ts`) of the decimal number in a column. */
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
