import { h } from 'preact'
import { askOne, isRefusal } from '../basics/api.ts'
import { keptDraft } from '../basics/drafts.ts'
import { html } from '../basics/html.ts'
import { useLoaded } from '../basics/loading.ts'
import { pathOf } from '../basics/models.ts'
import { type Model, nameOf, type Row } from '../logic/model.ts'
import { shown } from '../parts/message.ts'
import { Form } from './form.ts'

/** A record being changed. If it is gone by now, what was typed is not. */
export function Edit({ model, id }: { model: Model; id: string }) {
  const loaded = useLoaded(
    async (stop) => {
      try {
        return await askOne<Row>('GET', pathOf(model.model, encodeURIComponent(id)), { signal: stop })
      } catch (error) {
        const base = keptDraft(model.model, id)?.base
        if (base && isRefusal(error, 'RECORD_NOT_FOUND')) return base
        throw error
      }
    },
    [model.model, id],
  )
  return shown(loaded, (record) =>
    html.article(
      { class: 'record' },
      html.header(
        { class: 'title' },
        html.h1(null, nameOf(record, model)),
        html.span({ class: 'count' }, `#${record.id}, version ${record.version}`),
      ),
      h(Form, { key: id, model, record }),
    ),
  )
}
