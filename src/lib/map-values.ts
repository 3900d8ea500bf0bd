/** Maps the values of an object. `Object.fromEntries` defines own properties, so "__proto__" is an ordinary name. */
export const mapValues = <Value, Result>(object: Record<string, Value>, make: (value: Value) => Result) =>
  Object.fromEntries(Object.entries(object).map(([name, value]) => [name, make(value)]))
