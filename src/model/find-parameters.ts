/** Query parameters that select what is returned of a record. */
export const SELECTION_PARAMETERS = ['fields', 'expand']
/** Query parameters of find that are no filters. No field may have one of these names. */
export const FIND_PARAMETERS = ['offset', 'limit', 'after', 'sort', ...SELECTION_PARAMETERS]
