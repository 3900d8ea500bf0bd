import { useSignal } from '@preact/signals'
import { h } from 'preact'
import { go, rememberPlace, to } from '../basics/address.ts'
import { requestOne } from '../basics/api.ts'
import { handFile, previewFile } from '../basics/file-preview.ts'
import { html } from '../basics/html.ts'
import { say } from '../language/say.ts'
import { COLUMN_KINDS, type GuessedField, guessFields, modelOfFields } from '../logic/guess-model.ts'
import { type FieldKind, KINDS, MODEL_NAME, nameFrom } from '../logic/model-file.ts'
import { Action } from '../parts/action.ts'
import { FileDrop } from '../parts/file-drop.ts'
import { headRow } from '../parts/head-row.ts'
import { Heading } from '../parts/heading.ts'
import { Fault } from '../parts/message.ts'
import { notify } from '../parts/notices.ts'
import { TextField } from '../parts/text-field.ts'
import { filePath, type Plan } from './editing.ts'

/** Rows that the kinds of the columns are guessed from. */
const LOOKED_AT = 5000
const EXAMPLES = 3

interface Chosen {
  file: File
  rows: string[][]
  fields: GuessedField[]
}

/** A new model with the columns of a file, which is then imported. */
export function FromFile() {
  const chosen = useSignal<Chosen | undefined>(undefined)
  const title = useSignal('')
  const name = useSignal('')
  const fault = useSignal<string | undefined>(undefined)
  const nameFault = useSignal<string | undefined>(undefined)

  const take = async (file: File | undefined) => {
    if (!file) return
    fault.value = undefined
    try {
      const { header, rows } = await previewFile(file, LOOKED_AT)
      if (header.length === 0) throw new Error(say('There is nothing in this file.'))
      // The rows that were not read may have other values.
      const isWhole = rows.length < (/\.xlsx$/i.test(file.name) ? 200 : LOOKED_AT) && file.size < 1_000_000
      chosen.value = { file, rows, fields: guessFields(header, rows, isWhole) }
      const stem = file.name.replace(/\.[^.]*$/, '')
      title.value = stem
      const word = nameFrom(stem) || 'records'
      name.value = `data.${word.charAt(0).toUpperCase()}${word.slice(1)}`
    } catch (error) {
      fault.value = (error as Error).message
    }
  }

  const make = async () => {
    const isStillHere = rememberPlace()
    const { file, fields } = chosen.value as Chosen
    const model = name.value.trim()
    nameFault.value = MODEL_NAME.test(model)
      ? undefined
      : say('Write it like shop.Order: the last word with a capital.')
    if (nameFault.value !== undefined) return
    const schema = modelOfFields(title.value.trim() || model, fields)
    const { faults } = await requestOne<Plan>('POST', filePath(model, 'plan'), { body: { data: { schema } } })
    if (faults.length > 0) throw new Error(faults.map(({ pointer, message }) => `${pointer} ${message}`).join(' '))
    const saved = await requestOne<{ served: boolean }>('PUT', filePath(model), {
      body: { data: { schema, hash: null } },
    })
    if (!saved.served) throw new Error(say('The model is saved, but not served yet. See "System" for the reason.'))
    notify(say('The model is made. Check the file now, and import it.'))
    if (!isStillHere()) return
    handFile(file)
    go(to('m', model, 'import'))
  }

  const change = (at: number, field: Partial<GuessedField>) => {
    const known = chosen.value as Chosen
    const next = known.fields.with(at, { ...(known.fields[at] as GuessedField), ...field })
    chosen.value = { ...known, fields: next }
  }
  return html.article(
    { class: 'record' },
    h(Heading, {
      title: say('New model from a file'),
      about: say('The columns become fields. Look at what was guessed, change it, and make the model.'),
      crumbs: [{ text: say('Models'), href: to('models') }],
    }),
    fault.value !== undefined && Fault(fault.value),
    h(FileDrop, { onFile: take }),
    chosen.value && [
      html.div(
        { class: 'form columns' },
        h(TextField, { label: say('What one record is called'), text: title, hint: say('Such as Order') }),
        h(TextField, {
          label: say('Name in the API and in files'),
          text: name,
          hint: say('A group and a name, such as shop.Order'),
          fault: nameFault.value,
        }),
      ),
      h(Guessed, { chosen: chosen.value, onField: change }),
      html.footer(
        { class: 'action' },
        h(Action, { class: 'main', run: make }, say('Make the model')),
        html.span({ class: 'hint' }, say('Everybody may use its records, until you say otherwise under "Models".')),
      ),
    ],
  )
}

interface GuessedProperties {
  chosen: Chosen
  onField(at: number, field: Partial<GuessedField>): void
}

/** The columns, and the fields that are made from them. */
const Guessed = ({ chosen: { fields, rows }, onField }: GuessedProperties) =>
  html.div(
    { class: 'scrolls', tabIndex: 0, role: 'region', 'aria-label': say('Columns of the file') },
    html.table(
      null,
      headRow([say('Column'), say('Examples'), say('Name'), say('Kind'), say('Required')]),
      html.tbody(
        null,
        fields.map(({ column, name, kind, isRequired, choices }, at) =>
          html.tr(
            { key: at },
            html.td(null, column),
            html.td(
              { class: 'hint examples' },
              rows
                .slice(0, EXAMPLES)
                .map((row) => row[at] ?? '')
                .join(' · '),
            ),
            html.td(
              null,
              html.input({
                type: 'text',
                'aria-label': say('Name of the field for {column}', { column }),
                placeholder: say('leave out'),
                value: name,
                onInput: ({ currentTarget }) => onField(at, { name: currentTarget.value.trim() }),
              }),
            ),
            html.td(
              null,
              html.select(
                {
                  'aria-label': say('Kind of {column}', { column }),
                  onChange: ({ currentTarget }) => onField(at, kindChange(currentTarget.value as FieldKind, rows, at)),
                },
                COLUMN_KINDS.map((one) =>
                  html.option({ key: one, value: one, selected: one === kind }, KINDS[one].title),
                ),
              ),
              kind === 'choice' && html.div({ class: 'hint' }, choices.join(', ')),
            ),
            html.td(
              null,
              html.input({
                type: 'checkbox',
                'aria-label': say('{column} is required', { column }),
                checked: isRequired,
                onChange: ({ currentTarget }) => onField(at, { isRequired: currentTarget.checked }),
              }),
            ),
          ),
        ),
      ),
    ),
  )

/** A choice has the values that stand in the file. */
const kindChange = (kind: FieldKind, rows: string[][], at: number): Partial<GuessedField> => ({
  kind,
  choices: kind === 'choice' ? [...new Set(rows.map((row) => (row[at] ?? '').trim()).filter(Boolean))] : [],
})
