/** Joins items in groups of `size`, then the groups, and so on: a nested expression stays as shallow as possible. */
export function joinInGroups<Item>(items: Item[], size: number, join: (items: Item[]) => Item): Item {
  if (items.length <= size) return join(items)
  const groups = Array.from({ length: Math.ceil(items.length / size) }, (_, index) =>
    join(items.slice(index * size, (index + 1) * size)),
  )
  return joinInGroups(groups, size, join)
}
