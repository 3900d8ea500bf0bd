/** A number in a JSON text, and where: JSON.parse may not keep it as it was written. */
const SUSPICIOUS = /[0-9.]{16}|[eE][+-]?\d/

/** The places in a valid JSON text of the numbers that JavaScript cannot keep as they are written, as paths of keys. */
export function inexactNumbers(json: string): string[][] {
  // Hardly any text has one that could be: then nothing is looked at twice.
  if (!SUSPICIOUS.test(json)) return []
  const found: string[][] = []
  for (const { path, token } of walk(json)) if (/^[-\d]/.test(token) && !isExact(token)) found.push(path())
  return found
}

/** The path of the first key that stands twice in one object: JSON.parse keeps the last. */
export function repeatedKey(json: string): string[] | undefined {
  for (const { path, isRepeated } of walk(json)) if (isRepeated) return path()
  return undefined
}

interface Level {
  keys: Set<string>
  key: string
  isArray: boolean
}

interface Visit {
  path(): string[]
  token: string
  isRepeated: boolean
}

/** Every token of a valid JSON text with the way to it. Neither recursive nor by expressions: the text may be hostile. */
function* walk(json: string): Generator<Visit> {
  const open: Level[] = []
  const path = () => open.map(({ key }) => key)
  let text = ''
  for (let at = 0; at < json.length; ) {
    const end = endOfToken(json, at)
    const token = json.slice(at, end)
    at = end
    const level = open.at(-1)
    let isRepeated = false
    if (token === '{' || token === '[')
      open.push({ keys: new Set(), key: token === '[' ? '0' : '', isArray: token === '[' })
    else if (token === '}' || token === ']') open.pop()
    else if (token === ',' && level?.isArray) level.key = String(Number(level.key) + 1)
    else if (token === ':' && level) {
      level.key = JSON.parse(text) as string
      isRepeated = level.keys.has(level.key)
      level.keys.add(level.key)
    } else text = token
    yield { path, token, isRepeated }
  }
}

const IN_NUMBER = /[-+.\deE]/

/** A text, a number, or a single character. */
function endOfToken(json: string, start: number): number {
  let at = start + 1
  if (json[start] === '"') {
    for (; json[at] !== '"'; at++) if (json[at] === '\\') at++
    return at + 1
  }
  if (/[-\d]/.test(json[start] as string)) while (IN_NUMBER.test(json[at] ?? '')) at++
  return at
}

/** Whether a number means the same after it has been read: 1.50 does, 9007199254740993 and 1e400 do not. */
export function isExact(source: string): boolean {
  const number = Number(source)
  return Number.isFinite(number) && digitsOf(source) === digitsOf(String(number))
}

/** A number as its digits without zeros around them, and the place of the point: the same number has the same. */
function digitsOf(source: string): string {
  const [, sign, whole = '', fraction = '', exponent = '0'] = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(
    source,
  ) as unknown as [string, string, string, string?, string?]
  const digits = `${whole}${fraction}`.replace(/^0+/, '')
  // By hand: an expression for zeros at the end would try at every zero before.
  let end = digits.length
  while (digits[end - 1] === '0') end--
  const significant = digits.slice(0, end)
  if (significant === '') return '0'
  return `${sign}${significant}e${Number(exponent) - fraction.length + (digits.length - significant.length)}`
}
