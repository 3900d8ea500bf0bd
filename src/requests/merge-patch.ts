import type { IncomingHttpHeaders } from 'node:http'
import { isObject } from '../lib/is-object.ts'

/** Media type of a JSON merge patch (RFC 7396): the changed fields themselves. */
export const MERGE_PATCH = 'application/merge-patch+json'

/** Whether a request says that its body is a merge patch. */
export const isMergePatch = ({ 'content-type': type }: IncomingHttpHeaders) =>
  type?.toLowerCase().startsWith(MERGE_PATCH) === true

type Json = Record<string, unknown>

/** Whether a patch changes something within a field, so that the field's value must be known. */
export const patchesWithin = (patch: Json): boolean => Object.values(patch).some(isObject)

/** The fields with the patch applied: objects are merged at any depth, and null removes what is within them. */
export const applyPatch = (record: Json, patch: Record<string, Json>): Json =>
  Object.fromEntries(Object.entries(patch).map(([name, value]) => [name, mergeInto(record[name], value)]))

function mergeInto(target: unknown, patch: Json): Json {
  const kept = isObject(target) ? { ...target } : {}
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) delete kept[name]
    else
      Object.defineProperty(kept, name, {
        value: isObject(value) ? mergeInto(kept[name], value) : value,
        enumerable: true,
        configurable: true,
        writable: true,
      })
  }
  return kept
}
