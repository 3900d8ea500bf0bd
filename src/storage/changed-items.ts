/** Places of items in `Dialect.changeItems`: what is added comes after all that is there, and what is removed has no place. */
export const ADDED = 1_000_000
export const REMOVED = 2_000_000
