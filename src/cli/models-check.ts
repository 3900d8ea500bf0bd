import { resolve } from 'node:path'
import { parseArgs, styleText } from 'node:util'
import { loadConfig } from '../config.ts'
import { loadModels } from '../filters/load-models.ts'
import { BY_RULE, type RoleRights, withRights } from '../filters/rights.ts'
import { EVERYBODY } from '../model/access.ts'
import type { ModelFileFault } from '../model/file.ts'
import { explainIgnored, ignoredFiles, ModelFilesError } from '../model/load.ts'
import { readAttributes } from '../people/users.ts'
import { dialectFor, hasDatabase, inspectDatabase } from '../storage/open.ts'
import { planTable } from '../tables/plan.ts'
import { createReport, createReports, type Report, type UnservedModel } from '../tables/report.ts'
import { type Command, type CommandContext, resolveFile, runCommand, UsageError } from './command.ts'

export const HELP = `Usage: npm run models:check [-- [FOLDER] [--json]]

Checks every file in the models folder, or in FOLDER, and prints what the service would do to the data if it were
served, and who may do what. Changes nothing; works while the service runs. Exit codes: 0 all well, 1 a fault in a file
or a change that is refused, 2 wrong usage.
`

/** The effects of a model file on the data, the rights of each role, and warnings. */
type CheckedModel = Report & { rights: RoleRights[]; warnings: string[] }

interface Answer {
  faults: ModelFileFault[]
  models: CheckedModel[]
  unserved: UnservedModel[]
  /** names of files that are not model files */
  passedOver: string[]
}

export const modelsCheck: Command = async (context) => {
  const { values, positionals } = parseArgs({
    args: context.args,
    allowPositionals: true,
    options: { json: { type: 'boolean', default: false } },
  })
  const [given, ...more] = positionals
  if (more.length > 0) throw new UsageError('Name one folder, or none.')
  const config = loadConfig(context.env, true)
  const folder = given === undefined ? config.MODELS_DIR : resolveFile(given, context)
  const ignored = await ignoredFiles(folder)
  const show = (answer: Omit<Answer, 'passedOver'>) =>
    values.json
      ? `${JSON.stringify({ ...answer, passedOver: ignored })}\n`
      : forPeople({ ...answer, passedOver: ignored }, context)
  try {
    const models = await loadModels(folder)
    const isThere = hasDatabase(config)
    if (!isThere) context.stderr.write(`There is no database in ${resolve(config.DATA_DIR)} yet: all would be new.\n`)
    const { reports, unserved, users } = isThere
      ? await inspectDatabase(config, async (db) => ({
          ...(await createReports(db, models)),
          users: await readAttributes(db),
        }))
      : {
          reports: models.map((model) => createReport(planTable(model, undefined, [], dialectFor(config).tables))),
          unserved: [],
          users: [],
        }
    if (reports.some(({ refusals }) => refusals.length > 0)) context.exitCode = 1
    return show({ faults: [], models: withRights(reports, models, users), unserved })
  } catch (error) {
    if (!(error instanceof ModelFilesError)) throw error
    context.exitCode = 1
    return show({ faults: error.faults, models: [], unserved: [] })
  }
}

/** Formats the report for reading, with colours on a terminal. */
function forPeople({ faults, models, unserved, passedOver: ignored }: Answer, { stdout }: CommandContext): string {
  const paint = (colour: 'red' | 'green' | 'yellow' | 'gray', text: string) =>
    stdout.isTTY ? styleText(colour, text, { validateStream: false }) : text
  const lines = [
    ...faults.map(({ file, pointer, message }) => `${paint('red', 'fault')}  ${file} ${pointer}: ${message}`),
    ...models.flatMap(({ model, steps, refusals, hidden, broken, access, rights, warnings }) => [
      `${model}${steps.length + refusals.length === 0 ? `: ${paint('gray', 'nothing to do')}` : ''}`,
      ...steps.map((what) => `  ${paint('green', 'will')}     ${what}`),
      ...refusals.map((why) => `  ${paint('red', 'refused')}  ${why}`),
      ...hidden.map((name) => `  ${paint('gray', 'hidden')}   ${name} has no field; its data stays`),
      ...Object.entries(broken).map(
        ([name, count]) =>
          `  ${paint('yellow', 'note')}     ${count} stored records break the rules of ${name}; they apply to new writes`,
      ),
      ...warnings.map((warning) => `  ${paint('yellow', 'note')}     ${warning}`),
      ...(hasRules(rights)
        ? rights.map((one) => `  ${paint('gray', 'access')}   ${describeRights(one)}`)
        : [`  ${paint('gray', 'access')}   ${groupByAccess(access)}`]),
    ]),
    ...unserved.flatMap(({ model, records }) => [
      model,
      `  ${paint('yellow', 'gone')}     its file; its ${records} records stay, are not served, and hold up the delete of what they refer to`,
    ]),
  ]
  lines.push(...ignored.map((name) => `${paint('yellow', 'note')}  ${explainIgnored(name)}`))
  return `${lines.join('\n')}\n`
}

/** Whether rights depend on what a record says, or on fields: then they are told role by role. */
const hasRules = (rights: RoleRights[]) =>
  rights.some(
    ({ rows, hidden, locked }) =>
      hidden.length + locked.length > 0 || Object.values(rows).some((text) => text.includes(BY_RULE)),
  )

function describeRights({ role, rows, hidden, locked }: RoleRights): string {
  const parts = [
    groupByAccess(rows),
    ...(hidden.length > 0 ? [`without ${hidden.join(', ')}`] : []),
    ...(locked.length > 0 ? [`does not write ${locked.join(', ')}`] : []),
  ]
  return `${role === EVERYBODY ? 'everybody' : role}: ${parts.filter((part) => part !== '').join('; ')}`
}

/** Groups operations with the same access: `read, create: everybody; update, delete: admin`. */
function groupByAccess(access: Record<string, string>): string {
  const groups = Map.groupBy(Object.keys(access), (operation) => access[operation])
  return [...groups].map(([who, operations]) => `${operations.join(', ')}: ${who}`).join('; ')
}

if (import.meta.main) await runCommand(HELP, modelsCheck)
