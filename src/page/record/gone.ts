import { h } from 'preact'
import type { DossierError } from '../basics/api.ts'
import { formatSettings } from '../basics/format-settings.ts'
import { html } from '../basics/html.ts'
import { listPath } from '../basics/lists.ts'
import { restore } from '../basics/models.ts'
import { say } from '../language/say.ts'
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
      notify(say('It is back.'))
      onBack()
    } catch (error) {
      notifyError(error)
    }
  }
  return html.article(
    { class: 'record' },
    Empty(
      wasThere ? say('Deleted') : say('Gone, or out of reach'),
      html.p(
        null,
        refusal.message.replace(MOMENT, (iso) => formatMoment(iso, formatSettings.value)),
      ),
      html.p(
        null,
        wasThere &&
          model.allowed.create &&
          html.button({ type: 'button', class: 'main', onClick: bringBack }, say('Bring it back')),
        ' ',
        html.a({ href: listPath(model.model) }, say('All {model} records', { model: model.title })),
      ),
    ),
    wasThere && html.h2(null, say('History')),
    wasThere && h(History, { model, record: { id: Number(id) } as Row, revision: 0 }),
  )
}
