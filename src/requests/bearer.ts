/** The token in a request's `Authorization`; undefined without one. Who shows one is known by it alone, not by a cookie. */
export const bearerIn = (authorization: string | undefined): string | undefined =>
  /^bearer +(\S{1,500}) *$/i.exec(authorization ?? '')?.[1]
