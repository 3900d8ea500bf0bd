import { randomUUID } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import { failure } from '../envelope.ts'
import type { Failure } from '../errors.ts'

/** Answers a request without Fastify: it is not passed on, or must cost little, as under overload. */
export function answerFailure(response: ServerResponse, why: Failure, headers: Record<string, string> = {}): void {
  const body = JSON.stringify(failure(why, randomUUID()))
  const head = {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
    'cache-control': 'no-store',
  }
  response.writeHead(why.http, { ...head, ...why.details.headers, ...headers }).end(body)
}
