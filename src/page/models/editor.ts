import { untracked, useSignal } from '@preact/signals'
import { h } from 'preact'
import { useEffect, useMemo, useRef } from 'preact/hooks'
import { go, place, rememberPlace, to } from '../basics/address.ts'
import { hasErrorCode, requestOne } from '../basics/api.ts'
import { formatSettings } from '../basics/format-settings.ts'
import { html } from '../basics/html.ts'
import { type Loaded, useLoaded } from '../basics/loading.ts'
import { modelsOverview } from '../basics/models.ts'
import { language, say } from '../language/say.ts'
import { wordsIn } from '../logic/keyword-values.ts'
import { MODEL_KEYWORDS } from '../logic/keywords.ts'
import * as files from '../logic/model-file.ts'
import { formatMoment } from '../logic/values.ts'
import { Action } from '../parts/action.ts'
import { Heading } from '../parts/heading.ts'
import { renderLoaded } from '../parts/message.ts'
import { ModelReport } from '../parts/model-report.ts'
import { notify } from '../parts/notices.ts'
import { Editing, filePath, type Kept, type ModelFile, type Plan } from './editing.ts'
import { FieldForm } from './field-form.ts'
import { KeywordInput } from './keyword-input.ts'

/** The file of a model in a form: fields, what it would do to the data, drafts and earlier files. */
export function ModelEditor({ model }: { model: string }) {
  const title = place.value.query.get('title')
  const loaded = useLoaded(async () => {
    // Not again when models change: what is typed would be gone.
    const overview = await untracked(modelsOverview)
    const models = overview.map((one) => one.model)
    const file = await requestOne<ModelFile>('GET', filePath(model)).catch((error) => {
      if (title === null || !hasErrorCode(error, 'MODEL_NOT_FOUND')) throw error
      return newFile(model)
    })
    return { models, file, start: file.schema ?? file.draft?.schema ?? files.newModel(title ?? model) }
  }, [model, title])
  return renderLoaded(loaded, ({ models, file, start }) => h(Form, { key: file.hash, models, file, start, loaded }))
}

const newFile = (model: string): ModelFile => ({ model, file: '', hash: '', schema: null, earlier: [] })

interface FormProperties {
  models: string[]
  file: ModelFile
  start: files.ModelSchema
  loaded: Pick<Loaded<unknown>, 'again'>
}

function Form({ models, file, start, loaded }: FormProperties) {
  const editing = useMemo(() => new Editing(file, start), [file])
  const { schema, plan, isChanged, isPlanned, canSave } = editing
  const added = useSignal<string | undefined>(undefined)
  const heading = h(Heading, {
    title: wordsIn(schema.value.title, language) || wordsIn(schema.value.title, 'en') || file.model,
    about: file.model,
    crumbs: [{ text: say('Models'), href: to('models') }],
  })
  if (file.fixed !== undefined)
    return html.article(
      { class: 'record' },
      heading,
      html.p(null, file.fixed),
      file.schema !== null && html.pre(null, JSON.stringify(file.schema, null, 2)),
    )
  const save = async () => {
    const isStillHere = rememberPlace()
    const { served, why } = await editing.save()
    notify(
      served
        ? say('The model is saved and served.')
        : why.length > 0
          ? say('The model is saved, but not served: {why}', { why: why.join(' ') })
          : say('The model is saved. Its records are being changed; that takes a while.'),
    )
    if (file.hash === '' && isStillHere()) go(to('models', file.model))
    loaded.again()
  }
  return html.article(
    { class: 'record model-editor' },
    heading,
    h(Drafts, { editing, file }),
    html.section({ class: 'part' }, html.h2(null, say('Fields')), h(Fields, { editing, models, added })),
    html.details({ class: 'part' }, html.summary(null, html.h2(null, say('About the model'))), h(About, { editing })),
    html.section(
      { class: 'part' },
      html.h2(null, say('What happens')),
      plan.value && h(Outcome, { plan: plan.value, isCurrent: isPlanned.value }),
      html.footer(
        { class: 'action' },
        h(Action, { class: canSave.value ? '' : 'main', run: () => editing.look() }, say('Show what happens')),
        canSave.value && h(Action, { class: 'main', run: save }, say('Save and serve it')),
        isChanged.value && h(Action, { run: keep(editing) }, say('Keep as a draft')),
        isChanged.value &&
          html.button(
            {
              type: 'button',
              onClick: () => {
                editing.discardStored()
                loaded.again()
                if (file.hash === '') go(to('models'))
              },
            },
            say('Discard the changes'),
          ),
        !canSave.value && html.span({ class: 'hint' }, say('Nothing is changed by looking. Saving comes after that.')),
      ),
    ),
    file.earlier.length > 0 && h(Earlier, { editing, earlier: file.earlier }),
  )
}

const keep = (editing: Editing) => async () => {
  await editing.keepDraft()
  notify(say('The draft is kept. Other admins see it.'))
}

function Drafts({ editing, file }: { editing: Editing; file: ModelFile }) {
  const draft = editing.draft.value
  if (!draft) return null
  const when = formatMoment(draft.at, formatSettings.value)
  return html.div(
    { class: 'notice-line' },
    html.span(null, say('There is a draft by {name}, of {when}.', { name: draft.by, when })),
    file.draft &&
      html.button(
        { type: 'button', onClick: () => editing.change((file.draft as { schema: files.ModelSchema }).schema) },
        say('Open the draft'),
      ),
    h(Action, { run: () => editing.discardDraft() }, say('Discard the draft')),
  )
}

interface FieldsProperties {
  editing: Editing
  models: string[]
  /** name of the field that was just added: it is open */
  added: { value: string | undefined }
}

function Fields({ editing, models, added }: FieldsProperties) {
  const schema = editing.schema.value
  const { properties, required = [] } = schema
  const names = Object.keys(properties)
  return html.div(
    { class: 'model-fields' },
    Object.entries(properties).map(([name, field]) =>
      h(FieldForm, {
        key: name,
        name,
        field,
        isRequired: required.includes(name),
        isOpen: added.value === name,
        models,
        onField: (next) => editing.change(files.withField(schema, name, next)),
        onRequired: (isRequired) => editing.change(files.withRequired(schema, name, isRequired)),
        onRename: (to) => {
          if (to === name || to === '' || names.includes(to)) return
          added.value = to
          editing.change(files.withRenamed(schema, name, to, editing.opened ?? undefined))
        },
        onMove: (by) => {
          added.value = name
          editing.change(files.withMoved(schema, name, by))
        },
        onRemove: () => editing.change(files.withoutField(schema, name)),
      }),
    ),
    html.button(
      {
        type: 'button',
        onClick: () => {
          const name = files.freeName(names, 'field')
          added.value = name
          editing.change(files.withField(schema, name, { type: 'string' }))
        },
      },
      say('Add a field'),
    ),
  )
}

function About({ editing }: { editing: Editing }) {
  const schema = editing.schema.value
  const names = Object.keys(schema.properties).filter((name) => schema.properties[name]?.inverse === undefined)
  return html.div(
    { class: 'form columns' },
    MODEL_KEYWORDS.map((keyword) =>
      h(KeywordInput, {
        key: keyword.path,
        keyword,
        value: schema[keyword.path],
        names,
        onValue: (value) => editing.change(files.withValueAt(schema, keyword.path, value) as files.ModelSchema),
      }),
    ),
  )
}

/** Shows the service's answer about the file: its faults, or its effects. */
function Outcome({ plan, isCurrent }: { plan: Plan; isCurrent: boolean }) {
  const element = useRef<HTMLDivElement>(null)
  useEffect(() => element.current?.scrollIntoView({ block: 'nearest' }), [plan])
  const isRefused = plan.faults.length > 0 || plan.models.some(({ refusals }) => refusals.length > 0)
  return html.div(
    { ref: element, class: 'form', role: 'status' },
    isCurrent &&
      html.p(null, html.strong(null, isRefused ? say('This cannot be saved yet.') : say('This can be saved.'))),
    !isCurrent && html.p({ class: 'hint' }, say('You have changed something since: look again.')),
    plan.faults.length > 0 &&
      html.div(
        { class: 'fault' },
        html.ul(
          null,
          plan.faults.map(({ file, pointer, message }) =>
            html.li({ key: file + pointer + message }, html.strong(null, `${file} ${pointer}`), ` ${message}`),
          ),
        ),
      ),
    plan.models.map((report) => h(ModelReport, { key: report.model, report })),
  )
}

/** Files that were replaced: each can be opened again, and is saved as any other change. */
const Earlier = ({ editing, earlier }: { editing: Editing; earlier: Kept[] }) =>
  html.details(
    { class: 'part' },
    html.summary(null, html.h2(null, say('Earlier files'))),
    html.ul(
      { class: 'plain' },
      earlier.map(({ id, by, at }) =>
        html.li(
          { key: id },
          say('Replaced by {name}, {when}', { name: by, when: formatMoment(at, formatSettings.value) }),
          ' ',
          h(
            Action,
            {
              run: async () => {
                const path = filePath(editing.model, 'earlier', id)
                const { schema } = await requestOne<{ schema: files.ModelSchema }>('GET', path)
                editing.change(files.withRenamesBack(schema, editing.opened ?? undefined))
                notify(say('It is in the form now. Look at what happens, then save it.'))
              },
            },
            say('Bring it back'),
          ),
        ),
      ),
    ),
  )
