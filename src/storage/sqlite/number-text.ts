/**
 * SQL that formats the number in a column like JSON: all its digits and no more, `5` and not `5.0`, exponents as in
 * `1e+21` and `1e-7` only where JavaScript uses them. It is plain SQL, so that the table works in a database shell too.
 */
export function numberTextSql(column: string): string {
  const whole = `CAST(CAST(${column} AS INTEGER) AS TEXT)`
  const isWhole = `abs(${column}) < 1e15 AND ${column} = CAST(${column} AS INTEGER)`
  const plain = `printf('%.15g', ${column})`
  const isPlain = `abs(${column}) >= 1e-4 AND abs(${column}) < 1e15 AND CAST(${plain} AS REAL) = ${column}`
  return `CASE WHEN ${column} IS NULL THEN NULL WHEN ${isWhole} THEN ${whole} WHEN ${isPlain} THEN ${plain} ELSE ${anyNumber(column)} END`
}

/** The general case, as JavaScript defines it: from the digits of the shortest notation, and the exponent. */
function anyNumber(column: string): string {
  const size = `abs(${column})`
  const shortest = `CASE WHEN CAST(printf('%.14e', ${size}) AS REAL) = ${size} THEN printf('%.14e', ${size})
    WHEN CAST(printf('%.15e', ${size}) AS REAL) = ${size} THEN printf('%.15e', ${size}) ELSE printf('%!.16e', ${size}) END`
  const mantissa = `substr(${shortest}, 1, instr(${shortest}, 'e') - 1)`
  const digits = `rtrim(replace(${mantissa}, '.', ''), '0')`
  const exponent = `CAST(substr(${shortest}, instr(${shortest}, 'e') + 1) AS INTEGER)`
  const zeros = (count: string) => `substr('000000000000000000000', 1, ${count})`
  const fraction = `CASE WHEN length(${digits}) > 1 THEN '.' || substr(${digits}, 2) ELSE '' END`
  const isSmall = `${size} >= 1e-6 AND ${size} < 1`
  const isLong = `${size} < 1e21 AND ${size} >= 1 AND length(${digits}) > ${exponent} + 1`
  return `iif(${column} < 0, '-', '') || CASE
    WHEN ${isSmall} THEN '0.' || ${zeros(`-1 - ${exponent}`)} || ${digits}
    WHEN ${isLong} THEN substr(${digits}, 1, ${exponent} + 1) || '.' || substr(${digits}, ${exponent} + 2)
    WHEN ${size} < 1e21 AND ${size} >= 1 THEN ${digits} || ${zeros(`${exponent} + 1 - length(${digits})`)}
    ELSE substr(${digits}, 1, 1) || ${fraction} || 'e' || iif(${exponent} > 0, '+', '') || ${exponent} END`
}
