import { useSignal } from '@preact/signals'
import { h } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { go } from '../basics/address.ts'
import { recordCrumbs } from '../basics/crumbs.ts'
import { onChange } from '../basics/feed.ts'
import { handedFile, previewFile } from '../basics/file-preview.ts'
import { zone } from '../basics/format-settings.ts'
import { html } from '../basics/html.ts'
import { listPath } from '../basics/lists.ts'
import { useLoaded } from '../basics/loading.ts'
import { recordPath, referredModel } from '../basics/models.ts'
import { person } from '../basics/session.ts'
import { upload } from '../basics/upload.ts'
import { useKeys } from '../basics/use-keys.ts'
import { say } from '../language/say.ts'
import { type FilePreview, guessDecimal, guessField } from '../logic/csv.ts'
import { askedFields, type Field, findField, isNumeric, type Model } from '../logic/model.ts'
import { plural } from '../logic/values.ts'
import { FileDrop } from '../parts/file-drop.ts'
import { Heading } from '../parts/heading.ts'
import { Empty } from '../parts/message.ts'
import { notify, notifyError } from '../parts/notices.ts'
import { type Chosen, Columns } from './import-columns.ts'
import { type Counts, Faults, Progress, Result } from './import-outcome.ts'

/** Rows that are looked at; the first ones are shown. */
const PEEK_ROWS = 1000
const MORE: Pick<Field, 'name' | 'title'>[] = [
  { name: 'id', title: say('Id') },
  { name: 'version', title: say('Version') },
]

/** Columns that name a referred record by a text that no other one has: `company.name`. */
async function namesOfReferences(model: Model): Promise<(Pick<Field, 'name' | 'title'> & { of: string })[]> {
  const found = await Promise.all(
    askedFields(model).map(async (field) => {
      const target = await referredModel(field)
      const by = target?.fields.find(
        ({ name, unique, type }) => name === target.nameField && unique && type === 'string',
      )
      return by
        ? [
            {
              of: field.name,
              name: `${field.name}.${by.name}`,
              title: say('{field}, by {name}', { field: field.title, name: by.title }),
            },
          ]
        : []
    }),
  )
  return found.flat()
}

/** All that a column can become. */
async function importedFields(model: Model): Promise<Pick<Field, 'name' | 'title'>[]> {
  const byName = await namesOfReferences(model)
  return [...MORE, ...askedFields(model).flatMap((field) => [field, ...byName.filter(({ of }) => of === field.name)])]
}

/** A column of a reference whose cells are no ids has names. */
function guessColumn(name: string, examples: string[], fields: Pick<Field, 'name' | 'title'>[]): string {
  const guessed = guessField(name, fields)
  const byName = fields.find((field) => field.name.startsWith(`${guessed}.`))
  return byName && examples.some((text) => /\p{L}/u.test(text)) ? byName.name : guessed
}

/** The cells of columns that become numbers. */
function numberCells(model: Model, columns: string[], { rows }: FilePreview): string[] {
  const isNumber = (name: string) => {
    const field = findField(model, name)
    return field !== undefined && isNumeric(field)
  }
  return columns.flatMap((name, at) => (isNumber(name) ? rows.map((row) => row[at] ?? '') : []))
}

/** Imports a file: assign columns, check with a dry run, then import. */
export function Import({ model }: { model: Model }) {
  const chosen = useSignal<Chosen | undefined>(undefined)
  const key = useSignal('')
  const decimal = useSignal('')
  const result = useSignal<{ counts: Counts; isDry: boolean } | undefined>(undefined)
  const fault = useSignal<Error | undefined>(undefined)
  const progress = useSignal<{ sent: number; written: number; isDry: boolean } | undefined>(undefined)
  const { value: fields = [] } = useLoaded(() => importedFields(model), [model.model])
  const keys = [...MORE.slice(0, 1), ...askedFields(model).filter(({ unique }) => unique)]
  useKeys({ keys: 'Esc', does: say('back to the list'), press: () => go(listPath(model.model)) })

  const isLeft = useRef(false)
  useEffect(
    () => () => {
      isLeft.current = true
    },
    [],
  )
  // Counts written rows by the feed, which reports them like all changes.
  useEffect(
    () =>
      onChange((change) => {
        const now = progress.peek()
        if (now && !now.isDry && change.model === model.model && change.by === person.peek()?.username)
          progress.value = { ...now, written: now.written + 1 }
      }),
    [model.model],
  )

  const take = async (file: File | undefined) => {
    if (!file) return
    result.value = undefined
    fault.value = undefined
    const peek = await previewFile(file, PEEK_ROWS).catch((error: Error) => {
      fault.value = error
      chosen.value = undefined
    })
    if (!peek) return
    // A corrected file of the same columns: what was chosen for them stays.
    if (chosen.value && String(chosen.value.peek.header) === String(peek.header)) {
      chosen.value = { ...chosen.value, file, peek }
      return
    }
    // Not the rendered ones: a file may be chosen before they are loaded.
    const known = await importedFields(model)
    const columns = peek.header.map((name, at) =>
      guessColumn(
        name,
        peek.rows.map((row) => row[at] ?? ''),
        known,
      ),
    )
    chosen.value = { file, peek, columns }
    // A file that was exported here changes the records that it came from.
    key.value = columns.includes('id') ? 'id' : ''
    decimal.value = guessDecimal(numberCells(model, columns, peek)) ?? ''
  }

  // From which the model was made just now.
  useEffect(() => void take(handedFile()), [model.model])

  const send = async (isDry: boolean) => {
    const { file, peek, columns } = chosen.value as Chosen
    const query = new URLSearchParams({ ...peek.format, columns: columns.join(','), zone: zone.value })
    if (key.value !== '') query.set('key', key.value)
    if (decimal.value !== '' && peek.format.format === 'csv') query.set('decimal', decimal.value)
    if (isDry) query.set('dryRun', 'true')
    progress.value = { sent: 0, written: 0, isDry }
    fault.value = undefined
    try {
      const counts = await upload<Counts>(`${recordPath(model.model, 'import')}?${query}`, file, (sent) => {
        if (progress.value) progress.value = { ...progress.value, sent }
      })
      // The user may have chosen another file meanwhile.
      if (chosen.value?.file === file) result.value = { counts, isDry }
      if (isLeft.current)
        notify(
          plural(
            counts.created,
            'The import is done: {count} new record, {updated} changed.',
            'The import is done: {count} new records, {updated} changed.',
            { updated: counts.updated },
          ),
        )
    } catch (error) {
      result.value = undefined
      fault.value = error as Error
      if (isLeft.current) notifyError(error)
    }
    progress.value = undefined
  }

  if (!model.allowed.create) return Empty(say('You may not create {model} records', { model: model.title }))
  return html.article(
    { class: 'record' },
    h(Heading, {
      title: say('Import {model} records', { model: model.title }),
      crumbs: recordCrumbs(model),
    }),
    fault.value && h(Faults, { fault: fault.value, model }),
    h(FileDrop, { onFile: take }),
    chosen.value && [
      h(Columns, {
        chosen: chosen.value,
        fields,
        onColumns: (columns) => {
          if (chosen.value) chosen.value = { ...chosen.value, columns }
          result.value = undefined
        },
      }),
      html.label(
        { class: 'field' },
        html.span({ class: 'name' }, say('Rows that match a record')),
        html.select(
          {
            onChange: ({ currentTarget }) => {
              key.value = currentTarget.value
              result.value = undefined
            },
          },
          html.option({ value: '', selected: key.value === '' }, say('are new records all the same')),
          keys.map(({ name, title }) =>
            html.option(
              { key: name, value: name, selected: key.value === name },
              say('change it, if {field} is the same', { field: title }),
            ),
          ),
        ),
      ),
      chosen.value.peek.format.format === 'csv' &&
        html.label(
          { class: 'field' },
          html.span({ class: 'name' }, say('Numbers are written')),
          html.select(
            {
              onChange: ({ currentTarget }) => {
                decimal.value = currentTarget.value
                result.value = undefined
              },
            },
            html.option({ value: '', selected: decimal.value === '' }, say('in a way that is clear, such as 1234.5')),
            html.option({ value: 'comma', selected: decimal.value === 'comma' }, '1.234,50'),
            html.option({ value: 'point', selected: decimal.value === 'point' }, '1,234.50'),
          ),
        ),
      html.footer(
        { class: 'action' },
        html.button(
          {
            type: 'button',
            class: result.value ? '' : 'main',
            disabled: progress.value !== undefined || chosen.value.columns.every((name) => name === ''),
            onClick: () => send(true),
          },
          say('Check it'),
        ),
        html.button(
          {
            type: 'button',
            class: result.value ? 'main' : '',
            disabled: progress.value !== undefined || !result.value?.isDry,
            onClick: () => send(false),
          },
          say('Import it'),
        ),
        !result.value && html.span({ class: 'hint' }, say('First it is checked: nothing is written then.')),
      ),
    ],
    progress.value && chosen.value && h(Progress, { ...progress.value, size: chosen.value.file.size }),
    result.value && h(Result, { ...result.value, model }),
  )
}
