/** Matches every text with a number that JSON.parse may change: 16 digits or points in a row, or an exponent. */
const SUSPICIOUS = /[0-9.]{16}|[eE][+-]?\d/

/** Paths of the numbers in a valid JSON text that JavaScript cannot represent as they are written. */
export function inexactNumbers(json: string, maxCount = Number.POSITIVE_INFINITY): string[][] {
  // Hardly any text matches, so most are not scanned a second time.
  if (!SUSPICIOUS.test(json)) return []
  const found: string[][] = []
  scan(json, {
    number: (start, end, path) => {
      if (isSurelyExact(json, start, end) || isExact(json.slice(start, end))) return true
      return found.push(path()) < maxCount
    },
  })
  return found
}

/** Path of the first key that an object repeats; JSON.parse would silently keep its last value. */
export function repeatedKey(json: string): string[] | undefined {
  let repeated: string[] | undefined
  const seen: Set<string>[] = []
  scan(json, {
    open: () => void seen.push(new Set()),
    close: () => void seen.pop(),
    key: (key, path) => {
      const keys = seen.at(-1) as Set<string>
      const name = key()
      if (keys.has(name)) repeated = path()
      keys.add(name)
      return repeated === undefined
    },
  })
  return repeated
}

/** Callbacks of `scan`. `number` and `key` return false to end the scan. */
interface Listener {
  number?(start: number, end: number, path: () => string[]): boolean
  key?(key: () => string, path: () => string[]): boolean
  open?(): void
  close?(): void
}

interface Level {
  /** array: index of the item; object: -1, and `keyStart` and `keyEnd` delimit the key's text */
  place: number
  keyStart: number
  keyEnd: number
}

const QUOTE = 34
const COMMA = 44
const MINUS = 45
const PLUS = 43
const POINT = 46
const SMALL_E = 101
const LARGE_E = 69
const NINE = 57
const ZERO = 48
const COLON = 58
const BACKSLASH = 92
const [BRACKET, BRACKET_END, BRACE, BRACE_END] = [91, 93, 123, 125]

/**
 * Scans a valid JSON text by character codes, because a megabyte must take only some milliseconds. Uses neither
 * recursion nor regular expressions, because the text may be hostile.
 */
function scan(json: string, { number, key, open, close }: Listener): void {
  const levels: Level[] = []
  let level: Level | undefined
  let [textStart, textEnd] = [0, 0]
  const keyText = ({ place, keyStart, keyEnd }: Level) =>
    place >= 0 ? String(place) : (JSON.parse(json.slice(keyStart, keyEnd)) as string)
  const path = () => levels.map(keyText)
  for (let at = 0; at < json.length; at++) {
    const code = json.charCodeAt(at)
    if (code === QUOTE) {
      textStart = at
      for (at++; json.charCodeAt(at) !== QUOTE; at++) if (json.charCodeAt(at) === BACKSLASH) at++
      textEnd = at + 1
    } else if (code === MINUS || (code >= ZERO && code <= NINE)) {
      const start = at
      while (isInNumber(json.charCodeAt(at + 1))) at++
      if (number?.(start, at + 1, path) === false) return
    } else if (code === COMMA) {
      if (level && level.place >= 0) level.place++
    } else if (code === COLON) {
      const object = level as Level
      object.keyStart = textStart
      object.keyEnd = textEnd
      if (key?.(() => keyText(object), path) === false) return
    } else if (code === BRACKET || code === BRACE) {
      level = { place: code === BRACKET ? 0 : -1, keyStart: 0, keyEnd: 0 }
      levels.push(level)
      open?.()
    } else if (code === BRACKET_END || code === BRACE_END) {
      levels.pop()
      level = levels.at(-1)
      close?.()
    }
  }
}

const isExponent = (code: number) => code === SMALL_E || code === LARGE_E

/** Digits, the decimal point, signs, and the letter of an exponent. */
const isInNumber = (code: number) =>
  (code >= ZERO && code <= NINE) || code === POINT || code === MINUS || code === PLUS || isExponent(code)

/**
 * Whether a number certainly survives parsing: it has up to 15 significant digits, is at least 1e-307 and not too
 * large. Leading and trailing zeros do not count.
 */
function isSurelyExact(json: string, start: number, end: number): boolean {
  let digits = 0
  let zeros = 0
  /** power of ten of the first digit that is not zero, plus one */
  let power = 0
  let isFraction = false
  let exponent = -1
  let sign = 1
  for (let at = start; at < end; at++) {
    const code = json.charCodeAt(at)
    if (code === POINT) isFraction = true
    else if (isExponent(code)) exponent = 0
    else if (code === MINUS && exponent === 0) sign = -1
    else if (code < ZERO || code > NINE) continue
    else if (exponent >= 0) exponent = Math.min(1000, exponent * 10 + code - ZERO)
    else {
      if (code === ZERO) zeros++
      else {
        digits += digits === 0 ? 1 : zeros + 1
        zeros = 0
      }
      if (isFraction && digits === 0) power--
      else if (!isFraction && digits > 0) power++
    }
  }
  if (digits > 15) return false
  if (digits === 0) return true
  const place = power - 1 + sign * Math.max(0, exponent)
  return place >= -307 && (place <= 307 || (place === 308 && Number.isFinite(Number(json.slice(start, end)))))
}

/** Whether a number keeps its value when it is parsed: 1.50 does, 9007199254740993 and 1e400 do not. */
export function isExact(source: string): boolean {
  const number = Number(source)
  // Most numbers are written in this form, which needs no further comparison.
  if (String(number) === source) return true
  return Number.isFinite(number) && significantDigits(source) === significantDigits(String(number))
}

/** Normal form of a number: digits without surrounding zeros, and a power of ten. Equal numbers have equal forms. */
function significantDigits(source: string): string {
  const e = source.search(/[eE]/)
  const mantissa = e < 0 ? source : source.slice(0, e)
  const exponent = e < 0 ? 0 : Number(source.slice(e + 1))
  const sign = mantissa.startsWith('-') ? '-' : ''
  const point = mantissa.indexOf('.')
  const whole = mantissa.slice(sign.length, point < 0 ? undefined : point)
  const all = point < 0 ? whole : whole + mantissa.slice(point + 1)
  // Loops instead of a regular expression, which would backtrack at every run of zeros.
  let from = 0
  while (all[from] === '0') from++
  let end = all.length
  while (end > from && all[end - 1] === '0') end--
  if (from === end) return '0'
  return `${sign}${all.slice(from, end)}e${exponent + whole.length - end}`
}
