import { hasErrorCode, request, requestOne } from '../basics/api.ts'
import { type Change, onChange, onMissed } from '../basics/feed.ts'
import { recordPath } from '../basics/models.ts'
import { rememberChange } from '../basics/undo.ts'
import { merge } from '../logic/merge.ts'
import { displayName, type Model, type Row } from '../logic/model.ts'

export interface Saved {
  row: Row
  /** fields that others had changed, and whose values were kept */
  merged: string[]
}

/** So that Ctrl+Z takes it back, with all that was saved with it. */
export function rememberSaved(model: Model, { row }: Saved, hasOthers: boolean): void {
  if (model.history) rememberChange(model.model, [row], { name: displayName(row, model), hasOthers })
}

type Look = (now: Row | null, change?: Change) => void

/** Reports changes of a record while the user edits it; null if it was deleted. Returns a function that stops. */
export function followRecord(model: string, id: number, look: Look): () => void {
  const stops = [
    onChange((change) => {
      if (change.model === model && change.id === id) look(change.record, change)
    }),
    onMissed(() => {
      readAgain(model, id).then(
        (now) => look(now),
        () => undefined,
      )
    }),
  ]
  return () => {
    for (const stop of stops) stop()
  }
}

const readAgain = (model: string, id: number): Promise<Row | null> =>
  requestOne<Row>('GET', recordPath(model, id)).catch((error) => {
    if (hasErrorCode(error, 'RECORD_NOT_FOUND')) return null
    throw error
  })

/** With an idempotency key, a retry after a lost connection creates no second record. */
export async function create(model: string, values: Record<string, unknown>, key: string | undefined): Promise<Saved> {
  const asking = { body: { data: values }, ...(key !== undefined && { key }) }
  return { row: await requestOne<Row>('PUT', recordPath(model), asking), merged: [] }
}

/** Saves on top of changes by others if nothing clashes. `fields` are those that can be compared (not write-only). */
export async function update(
  model: string,
  base: Row,
  { values, related }: { values: Record<string, unknown>; related: Record<string, unknown> },
  fields: string[],
): Promise<Saved> {
  const path = recordPath(model, base.id)
  const isTogether = Object.keys(related).length > 0
  try {
    // The service merges one record, not those that are written with it.
    const body = { ...(!isTogether && { merge: true }), data: { ...values, ...related, version: base.version } }
    const { data, merged = [] } = await request<Row>('POST', path, { body })
    return { row: data[0] as Row, merged }
  } catch (error) {
    // Without a history the service cannot find clashes, but the page can compare with `base`, except secrets.
    const isConflict = hasErrorCode(error, 'VERSION_CONFLICT') && Object.keys(error.errors).length === 0
    const isOurs = isConflict && (isTogether || !error.failure.conflict)
    const theirs = isOurs ? (error.failure.data?.[0] as Row | undefined) : undefined
    const compared = theirs && merge(base, theirs, values, fields)
    const hasSecrets = Object.keys(values).some((name) => !fields.includes(name))
    if (!compared || compared.clashes.length > 0 || hasSecrets) throw error
    const row = await requestOne<Row>('POST', path, {
      body: { data: { ...values, ...related, version: theirs.version } },
    })
    return { row, merged: compared.theirs }
  }
}
