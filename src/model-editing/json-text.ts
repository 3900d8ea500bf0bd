/** Columns of a line in a model file. */
const MAX_LINE = 120

/** JSON as people write it: what fits into a line stands in one. */
export function formatJson(value: unknown, indent = '', used = 0): string {
  const line = oneLine(value)
  const isWhole = indent === '' && typeof value === 'object'
  if (!isWhole && indent.length + used + line.length <= MAX_LINE) return line
  const inner = `${indent}  `
  if (Array.isArray(value) && value.length > 0)
    return `[\n${value.map((item) => inner + formatJson(item, inner)).join(',\n')}\n${indent}]`
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return line
  const members = Object.entries(value).map(([name, one]) => {
    const key = `${JSON.stringify(name)}: `
    return inner + key + formatJson(one, inner, key.length + 1)
  })
  return members.length === 0 ? line : `{\n${members.join(',\n')}\n${indent}}`
}

function oneLine(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(oneLine).join(', ')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const members = Object.entries(value).map(([name, one]) => `${JSON.stringify(name)}: ${oneLine(one)}`)
  return members.length === 0 ? '{}' : `{ ${members.join(', ')} }`
}
