/** The same names with something made of each value. `fromEntries` defines own properties: any name is only a name. */
export const mapValues = <Value, Result>(object: Record<string, Value>, make: (value: Value) => Result) =>
  Object.fromEntries(Object.entries(object).map(([name, value]) => [name, make(value)]))
