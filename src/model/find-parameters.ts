/** Query parameters of find that are no filters. No field may have one of these names. */
export const SELECTION_PARAMETERS = ['fields', 'expand']
export const FIND_PARAMETERS = ['offset', 'limit', 'after', 'sort', ...SELECTION_PARAMETERS]
