/** Methods that change nothing, unless the route is configured with `changes`. */
export const SAFE_METHODS = ['GET', 'HEAD', 'OPTIONS', 'QUERY']

/** The relevant part of a route's `config`. */
interface RouteConfig {
  access?: { operation: string }
  /** whether a GET route changes data */
  changes?: boolean
}

/** Whether a request may change data. A search is a POST, but only reads. */
export const mayChange = (method: string, { access, changes }: RouteConfig): boolean =>
  changes === true || (!SAFE_METHODS.includes(method) && access?.operation !== 'read')
