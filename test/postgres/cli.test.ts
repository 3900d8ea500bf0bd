import { existsSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { HELP as BACKUP_HELP, backupCommand } from '../../src/cli/backup.ts'
import { HELP as EXPORT_HELP, exportCommand } from '../../src/cli/export.ts'
import { HELP as CHECK_HELP, modelsCheck } from '../../src/cli/models-check.ts'
import { HELP as RESTORE_HELP, restoreCommand } from '../../src/cli/restore.ts'
import { HELP as USER_HELP, userCommand } from '../../src/cli/user.ts'
import { dialectFor } from '../../src/storage/open.ts'
import { hasServer } from './run-on-postgres.ts'

const isThere = hasServer()
process.env.TEST_ENGINE = 'postgres'
const { commandRunner } = await import('../commands.ts')
const { CONTACT, startApp, writeModel } = await import('../helper.ts')

if (isThere)
  t.test('commands work on the database that is named', async (t) => {
    const app = await startApp(t)
    const { DATA_DIR, MODELS_DIR, DATABASE_URL = '' } = app.config
    const env = { DATA_DIR, MODELS_DIR, DATABASE_URL }
    const admin = await app.login()
    await admin.put('/ws/rest/contacts.Contact', { firstName: 'Ada', lastName: 'x' })
    const user = commandRunner(USER_HELP, userCommand, env)
    t.match(await user('add bob --no-password'), { code: 0, out: /bob/ })
    const { out: token } = await user('token bob')
    const headers = { authorization: `Bearer ${token.trim()}` }
    t.equal((await app.stranger.send('GET', '/ws/me', undefined, headers)).status, 200)
    t.match(await user('remove admin'), { code: 1, err: /last enabled user/ })
    const check = commandRunner(CHECK_HELP, modelsCheck, env)
    t.match(await check(''), { code: 0, out: /contacts\.Contact/ })
    const properties = { ...CONTACT.properties, lastName: { type: 'integer' } }
    writeModel(app.folder, 'contacts.Contact.json', { ...CONTACT, properties })
    t.match(await check(''), { code: 1, out: /"lastName" cannot become integer without loss in the records 1/ })
    writeModel(app.folder, 'contacts.Contact.json', CONTACT)
    const exporting = commandRunner(EXPORT_HELP, exportCommand, env)
    t.match(await exporting('contacts.Contact -'), { code: 0, out: /1,0,Ada x,Ada,x/ })
    const elsewhere = /made there, with pg_dump and pg_restore/
    t.match(await commandRunner(BACKUP_HELP, backupCommand, env)(''), { code: 1, err: elsewhere })
    t.match(await commandRunner(RESTORE_HELP, restoreCommand, env)('x.db --create'), { code: 1, err: elsewhere })
    t.notOk(existsSync(join(DATA_DIR, 'dossier.db')), 'nothing is kept here')
    t.equal(dialectFor(app.config).tables.rebuild.strategy, 'concurrent-copy')
  })
