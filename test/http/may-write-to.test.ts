import type { IncomingMessage } from 'node:http'
import t from 'tap'
import { mayWriteTo } from '../../src/http/may-write-to.ts'

t.test('which requests may write to a model', async (t) => {
  const cases: [string, string, boolean][] = [
    ['PUT', '/ws/rest/a.Thing', true],
    ['POST', '/ws/rest/a.Thing/1', true],
    ['POST', '/ws/rest/a.Thing/1/restore', true],
    ['DELETE', '/ws/rest/a.Thing/1?version=2', true],
    ['POST', '/ws/batch', true],
    ['POST', '/ws/changes/7/undo', true],
    ['POST', '/ws/rest/a.Thing', true],
    ['PUT', '/ws/rest/a.ThingOfOthers', false],
    ['POST', '/ws/rest/a.Thing/aggregate', false],
    ['GET', '/ws/rest/a.Thing/1', false],
    ['POST', '/ws/rest/a.Thing/search', false],
    ['GET', '/ws/changes/stream', false],
    ['PUT', '/ws/rest/a.Other', false],
  ]
  for (const [method, url, expected] of cases)
    t.equal(mayWriteTo({ method, url } as IncomingMessage, ['a.Thing']), expected, `${method} ${url}`)
})
