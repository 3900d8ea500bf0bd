import type { IncomingHttpHeaders } from 'node:http'
import { Failure } from '../errors.ts'

export const GZIP = 'gzip'

/** Whether the body of a request is packed by gzip. */
export const isGzipped = ({ 'content-encoding': encoding }: IncomingHttpHeaders) => encoding?.toLowerCase() === GZIP

export const NOT_GZIPPED = new Failure('BAD_REQUEST', 'The body is not packed by gzip, as its Content-Encoding says.')
