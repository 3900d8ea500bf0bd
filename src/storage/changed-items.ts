/** Sort positions in `Dialect.changeItems`: added items come after the existing ones, and removed ones are left out. */
export const ADDED = 1_000_000
export const REMOVED = 2_000_000
