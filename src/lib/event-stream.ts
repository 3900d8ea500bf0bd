import type { ServerResponse } from 'node:http'

/** Whether a response is a stream of events, which ends only when its client disconnects. */
export const isEventStream = (response: ServerResponse) => response.getHeader('content-type') === 'text/event-stream'
