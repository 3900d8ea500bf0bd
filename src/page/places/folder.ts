import { h } from 'preact'
import { requestOne } from '../basics/api.ts'
import { html } from '../basics/html.ts'
import { useLoaded } from '../basics/loading.ts'
import { modelsRevision } from '../basics/models.ts'
import { say, sayParts } from '../language/say.ts'
import { plural } from '../logic/values.ts'
import { renderLoaded } from '../parts/message.ts'
import { ModelReport, type Report } from '../parts/model-report.ts'

interface ModelsFolder {
  faults: string[]
  models: Report[]
  unserved: { model: string; records: number }[]
  passedOver: string[]
}

/** Preview of the changes that the files of the models folder would make to the tables. */
export function Folder({ status, shownFaults }: { status: string; shownFaults: string[] }) {
  const loaded = useLoaded(() => {
    modelsRevision.value
    return requestOne<ModelsFolder>('GET', '/ws/state/models')
  }, [status])
  return renderLoaded(loaded, ({ faults, models, unserved, passedOver }) =>
    html.div(
      { class: 'form' },
      html.p(
        null,
        html.button({ type: 'button', onClick: loaded.again }, say('Look again')),
        html.span({ class: 'hint' }, ' ', say('As models:check tells it. Nothing is changed by looking.')),
      ),
      // Faults that the lines above have listed are not repeated.
      faults.some((fault) => !shownFaults.includes(fault)) &&
        html.div(
          { class: 'fault' },
          html.ul(
            null,
            faults.map((fault) => html.li({ key: fault }, fault)),
          ),
        ),
      models.map((report) => h(ModelReport, { key: report.model, report })),
      unserved.map(({ model, records }) =>
        html.p(
          { key: model },
          sayParts('{model} has no file any more; its {records} stay.', {
            model: html.strong(null, model),
            records: plural(records, '{count} record', '{count} records'),
          }),
        ),
      ),
      passedOver.length > 0 &&
        html.p({ class: 'hint' }, say('Files that are no models: {files}', { files: passedOver.join(', ') })),
    ),
  )
}
