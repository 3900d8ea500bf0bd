/** The token in the `Authorization` header; undefined without one. If there is one, the session cookie is ignored. */
export const bearerIn = (authorization: string | undefined): string | undefined =>
  /^bearer +(\S{1,500}) *$/i.exec(authorization ?? '')?.[1]
