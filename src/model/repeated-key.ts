/** The JSON pointer of the first key that stands twice in one object of a valid JSON text: JSON.parse keeps the last. */
export function repeatedKey(json: string): string | undefined {
  const open: Level[] = []
  let text = ''
  for (const [token] of json.matchAll(/"(?:[^"\\]|\\.)*"|[{}[\],:]/g)) {
    const level = open.at(-1)
    if (token === '{' || token === '[')
      open.push({ keys: new Set(), key: token === '[' ? '0' : '', isArray: token === '[' })
    else if (token === '}' || token === ']') open.pop()
    else if (token === ',' && level?.isArray) level.key = String(Number(level.key) + 1)
    else if (token === ':' && level) {
      level.key = JSON.parse(text) as string
      if (level.keys.has(level.key)) return open.map(({ key }) => `/${key}`).join('')
      level.keys.add(level.key)
    } else text = token
  }
  return undefined
}

interface Level {
  keys: Set<string>
  key: string
  isArray: boolean
}
