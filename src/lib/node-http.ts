/**
 * The parts of node:http that are used. To import it would also load Node's HTTP client and WebSockets: 16 MB per
 * thread.
 */
export const { createServer, request, STATUS_CODES } = process.getBuiltinModule('node:http')
