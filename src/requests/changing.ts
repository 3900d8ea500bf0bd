/** By these nothing is changed, unless a route says so. */
export const SAFE_METHODS = ['GET', 'HEAD', 'OPTIONS']

/** What a route says of itself. */
interface Says {
  access?: { operation: string }
  /** a GET that changes something */
  changes?: boolean
}

/** Whether a request may change something. A search is a POST, and only reads. */
export const mayChange = (method: string, { access, changes }: Says): boolean =>
  changes === true || (!SAFE_METHODS.includes(method) && access?.operation !== 'read')
