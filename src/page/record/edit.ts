import { h } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { to } from '../basics/address.ts'
import { hasErrorCode, requestOne } from '../basics/api.ts'
import { recordCrumbs } from '../basics/crumbs.ts'
import { loadDraft } from '../basics/drafts.ts'
import { html } from '../basics/html.ts'
import { useLoaded } from '../basics/loading.ts'
import { modelsRevision, recordPath } from '../basics/models.ts'
import { say } from '../language/say.ts'
import { displayName, type Model, type Row, shownFields } from '../logic/model.ts'
import { Heading } from '../parts/heading.ts'
import { Empty, renderLoaded } from '../parts/message.ts'
import { Form } from './form.ts'

const AGAIN_MS = 300
const MAX_TRIES = 20

/** Form for an existing record. If the record was deleted, its stored draft is still shown. */
export function Edit({ model, id }: { model: Model; id: string }) {
  const loaded = useLoaded(
    async (stop) => {
      // A new version of the model loads the record again, with its current fields.
      modelsRevision.value
      try {
        return await requestOne<Row>('GET', recordPath(model.model, encodeURIComponent(id)), { signal: stop })
      } catch (error) {
        const base = loadDraft(model.model, id)?.base
        if (base && hasErrorCode(error, 'RECORD_NOT_FOUND')) return base
        throw error
      }
    },
    [model.model, id],
  )
  // While models change, the service may still answer with the old fields; then the record is loaded again.
  const { value: record, again } = loaded
  const isBehind = record && shownFields(model).some(({ name }) => !Object.hasOwn(record, name))
  const tries = useRef(0)
  useEffect(() => {
    if (!isBehind || ++tries.current > MAX_TRIES) return
    const timer = setTimeout(again, AGAIN_MS)
    return () => clearTimeout(timer)
  }, [record, isBehind])
  if (!model.allowed.update) return Empty(say('You may not change {model} records', { model: model.title }))
  return renderLoaded(loaded, (record) =>
    html.article(
      { class: 'record' },
      h(Heading, {
        title: say('Edit'),
        greeting: displayName(record, model),
        crumbs: [...recordCrumbs(model), { text: displayName(record, model), href: to('m', model.model, record.id) }],
      }),
      h(Form, { key: id, model, record }),
    ),
  )
}
