/** Joins many things by joining some at a time, and then what has come of that: nothing gets deeper than it has to. */
export function joinedInGroups<Item>(items: Item[], size: number, join: (items: Item[]) => Item): Item {
  if (items.length <= size) return join(items)
  const groups = Array.from({ length: Math.ceil(items.length / size) }, (_, index) =>
    join(items.slice(index * size, (index + 1) * size)),
  )
  return joinedInGroups(groups, size, join)
}
