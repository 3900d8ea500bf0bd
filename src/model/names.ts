/** The names that find reads from a query string, beside fields: no field may have one of them. */
export const VIEW_PARAMETERS = ['fields', 'expand']
export const FIND_PARAMETERS = ['offset', 'limit', 'after', 'sort', ...VIEW_PARAMETERS]
