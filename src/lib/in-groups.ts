/** Items in groups of `size`; the last one may have fewer. */
export const inGroups = <Item>(items: readonly Item[], size: number): Item[][] =>
  Array.from({ length: Math.ceil(items.length / size) }, (_, nth) => items.slice(nth * size, (nth + 1) * size))

/** Joins items in groups of `size`, then the groups, and so on: a nested expression stays as shallow as possible. */
export function joinInGroups<Item>(items: Item[], size: number, join: (items: Item[]) => Item): Item {
  if (items.length <= size) return join(items)
  return joinInGroups(inGroups(items, size).map(join), size, join)
}
