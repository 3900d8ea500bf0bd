/** A number in a JSON text, and where: JSON.parse may not keep it as it was written. */
const SUSPICIOUS = /[0-9.]{16}|[eE][+-]?\d/

/** The places in a valid JSON text of the numbers that JavaScript cannot keep as they are written, as paths of keys. */
export function inexactNumbers(json: string, most = Number.POSITIVE_INFINITY): string[][] {
  // Hardly any text has one that could be: then nothing is looked at twice.
  if (!SUSPICIOUS.test(json)) return []
  const found: string[][] = []
  scan(json, {
    number: (start, end, path) => {
      if (isSurelyExact(json, start, end) || isExact(json.slice(start, end))) return true
      return found.push(path()) < most
    },
  })
  return found
}

/** The path of the first key that stands twice in one object: JSON.parse keeps the last. */
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

/** What a scan tells. Whoever returns false has heard enough. */
interface Listener {
  number?(start: number, end: number, path: () => string[]): boolean
  key?(key: () => string, path: () => string[]): boolean
  open?(): void
  close?(): void
}

interface Level {
  /** of an array: the place of the item; of an object: where the text of the key begins and ends */
  place: number
  keyStart: number
  keyEnd: number
}

const QUOTE = 34
const COMMA = 44
const MINUS = 45
const NINE = 57
const ZERO = 48
const COLON = 58
const BACKSLASH = 92
const [BRACKET, BRACKET_END, BRACE, BRACE_END] = [91, 93, 123, 125]

/**
 * Goes through a valid JSON text. By codes of characters, for a megabyte of it has to be gone through in some milliseconds;
 * neither recursive nor by expressions, for the text may be hostile.
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

/** Digits, a point, signs, and the letter of an exponent. */
const isInNumber = (code: number) =>
  (code >= ZERO && code <= NINE) || code === 46 || code === MINUS || code === 43 || code === 101 || code === 69

/**
 * Up to fifteen digits come back as they were, if the number is none of the very smallest. Zeros before and after the other
 * digits do not count.
 */
function isSurelyExact(json: string, start: number, end: number): boolean {
  let digits = 0
  let zeros = 0
  /** the power of ten of the first digit that is no zero */
  let power = 0
  let isFraction = false
  let exponent = -1
  let sign = 1
  for (let at = start; at < end; at++) {
    const code = json.charCodeAt(at)
    if (code === 46) isFraction = true
    else if (code === 101 || code === 69) exponent = 0
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

/** Whether a number means the same after it has been read: 1.50 does, 9007199254740993 and 1e400 do not. */
export function isExact(source: string): boolean {
  const number = Number(source)
  // As most are written: then there is nothing to compare.
  if (String(number) === source) return true
  return Number.isFinite(number) && significantDigits(source) === significantDigits(String(number))
}

/** A number as its digits without zeros around them, and the place of the point: the same number has the same. */
function significantDigits(source: string): string {
  const e = source.search(/[eE]/)
  const mantissa = e < 0 ? source : source.slice(0, e)
  const exponent = e < 0 ? 0 : Number(source.slice(e + 1))
  const sign = mantissa.startsWith('-') ? '-' : ''
  const point = mantissa.indexOf('.')
  const whole = mantissa.slice(sign.length, point < 0 ? undefined : point)
  const all = point < 0 ? whole : whole + mantissa.slice(point + 1)
  // By hand: an expression for zeros at the end would try at every zero before.
  let from = 0
  while (all[from] === '0') from++
  let end = all.length
  while (end > from && all[end - 1] === '0') end--
  if (from === end) return '0'
  return `${sign}${all.slice(from, end)}e${exponent + whole.length - end}`
}
