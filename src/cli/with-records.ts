import { type Config, loadConfig } from '../config.ts'
import { Failure } from '../errors.ts'
import { createAccess } from '../filters/access.ts'
import { loadModels } from '../filters/load-models.ts'
import { didYouMean } from '../lib/nearest.ts'
import { ADMIN, type User } from '../model/access.ts'
import { byName, type Model, type Models } from '../model/model.ts'
import { createVisibleModelsLookup } from '../model/visible-models.ts'
import { findUser } from '../people/users.ts'
import { KnownTotals } from '../records/find/known-totals.ts'
import { createRecords, type Records } from '../records/records.ts'
import { UserLimits } from '../records/user-limits.ts'
import { Cursors } from '../requests/cursor.ts'
import { openStorage, requireDatabase } from '../storage/open.ts'
import type { Storage, StorageFault } from '../storage/storage.ts'
import type { CommandContext } from './command.ts'

/** Access to the records of a model, for a command. */
export interface RecordsAccess {
  config: Config
  storage: Storage
  models: Models
  model: Model
  records: Records
  /** the user on whose behalf the command runs */
  user: User
}

/** Time limit in seconds, long enough for any file: no client waits for the answer. */
const A_DAY = 86_400

/** Opens the records of a model, with or without a running service. Without `as`, the command has admin rights. */
export async function withRecords<Result>(
  context: CommandContext,
  name: string,
  as: string | undefined,
  work: (opened: RecordsAccess) => Promise<Result>,
): Promise<Result> {
  const config = loadConfig(context.env, true)
  requireDatabase(config)
  const models = byName(await loadModels(config.MODELS_DIR))
  const model = models.get(name)
  if (!model) throw new Failure('MODEL_NOT_FOUND', `There is no model "${name}".${didYouMean(name, models.keys())}`)
  const storage = await openStorage(config)
  const shared = {
    storage,
    limits: new UserLimits(),
    // Only find, read and aggregate use cursors and totals, and no command calls them.
    cursors: new Cursors(''),
    totals: new KnownTotals(storage),
    findSeconds: A_DAY,
    exportSeconds: A_DAY,
    maxRecordLength: config.BODY_LIMIT_BYTES,
    // Only `find` advises indexes.
    advise: String,
  }
  const admin = { username: config.ADMIN_USERNAME, roles: [ADMIN] }
  const begin = async () => {
    const user = as === undefined ? admin : await findUser(storage.db, as)
    const visibleModels = createVisibleModelsLookup(models)(user)
    const context = {
      ...shared,
      models: visibleModels,
      access: createAccess(models, storage.db).forVisibleModels(visibleModels),
    }
    const own = visibleModels.get(name) as Model
    return work({ config, storage, models: visibleModels, model: own, records: createRecords(context, own), user })
  }
  return begin()
    .catch((error: Partial<StorageFault>) => {
      throw error.kind === 'stale' ? new Failure('UNAVAILABLE', OTHER_SHAPE) : error
    })
    .finally(() => storage.close())
}

const OTHER_SHAPE =
  'The tables are not what the model files say. Start the service, or let it follow the folder; npm run models:check tells what differs.'
