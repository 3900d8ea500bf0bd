import { h } from 'preact'
import type { DossierError } from '../basics/api.ts'
import { html } from '../basics/html.ts'
import { listPath } from '../basics/lists.ts'
import { restore } from '../basics/models.ts'
import { reader } from '../basics/reader.ts'
import type { Model, Row } from '../logic/model.ts'
import { formatMoment } from '../logic/values.ts'
import { Empty } from '../parts/message.ts'
import { notify, notifyError } from '../parts/notices.ts'
import { History } from './history.ts'

interface GoneProperties {
  model: Model
  id: string
  refusal: DossierError
  onBack(): void
}

const MOMENT = /\d{4}-\d\d-\d\dT[\d:.]+Z/

/** Message for a record that does not exist or was deleted; the service then says by whom. */
export function Gone({ model, id, refusal, onBack }: GoneProperties) {
  const wasThere = /deleted/.test(refusal.message)
  const bringBack = async () => {
    try {
      await restore(model.model, id)
      notify('It is back.')
      onBack()
    } catch (error) {
      notifyError(error)
    }
  }
  return html.article(
    { class: 'record' },
    Empty(
      wasThere ? 'Deleted' : 'Gone, or out of reach',
      html.p(
        null,
        refusal.message.replace(MOMENT, (iso) => formatMoment(iso, reader.value)),
      ),
      html.p(
        null,
        wasThere &&
          model.allowed.create &&
          html.button({ type: 'button', class: 'main', onClick: bringBack }, 'Bring it back'),
        ' ',
        html.a({ href: listPath(model.model) }, `All ${model.title} records`),
      ),
    ),
    wasThere && html.h2(null, 'History'),
    wasThere && h(History, { model, record: { id: Number(id) } as Row, round: 0 }),
  )
}
