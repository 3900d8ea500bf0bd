import t from 'tap'
import { createWorkbook } from '../../src/xlsx/write-workbook.ts'
import { startBrowser } from '../browser.ts'
import { startApp } from '../helper.ts'
import { visit, visitAs } from './visitor.ts'

/** Models edited in the page, models from files, spreadsheets, and the page in German. */

const COMPANY = {
  type: 'object',
  title: { en: 'Company', de: 'Firma' },
  plural: { en: 'Companies', de: 'Firmen' },
  properties: {
    name: { type: 'string', title: 'Name', unique: true },
    town: { type: 'string', title: { en: 'Town', de: 'Ort' } },
    state: {
      type: 'string',
      title: { en: 'State', de: 'Stand' },
      enum: ['new', 'old'],
      titles: { new: { en: 'new', de: 'neu' }, old: { en: 'old', de: 'alt' } },
    },
    since: { type: 'string', format: 'date-time', title: 'Since' },
  },
  nameField: 'name',
}
const PERSON = {
  type: 'object',
  properties: { name: { type: 'string' }, company: { type: 'integer', reference: 'shop.Company' } },
}

const browser = await startBrowser(t)
if (browser) {
  const app = await startApp(t, { models: { 'shop.Company.json': COMPANY, 'shop.Person.json': PERSON } })
  const admin = await app.login()
  await admin.put('/ws/users', { username: 'eve', password: 'correct-horse-battery', roles: ['admin'] })
  const company = { name: 'ACME', town: 'Köln', state: 'new', since: '2026-07-01T08:30:00Z' }
  await admin.put('/ws/rest/shop.Company', company)
  await admin.put('/ws/rest/shop.Company', { name: 'Bolt', town: 'Köln', state: 'old' })
  await admin.put('/ws/rest/shop.Person', { name: 'Ada', company: 1 })

  t.test('a model is changed, refused, kept as a draft and brought back', async (t) => {
    const { page, complaints } = await visitAs(t, browser, app, '#/models')
    await page.getByRole('link', { name: 'shop.Company' }).click()
    const field = (title: string) => page.locator('.model-field', { has: page.locator('summary', { hasText: title }) })
    const look = () => page.getByRole('button', { name: 'Show what happens' }).click()
    const save = page.getByRole('button', { name: 'Save and serve it' })

    // Two companies have the same town.
    await field('Town').locator('summary').first().click()
    await field('Town').getByText('More about this field').click()
    await field('Town').getByLabel('No two records have the same').check()
    await look()
    await page.getByText('This cannot be saved yet.').waitFor()
    await page.getByText('refused:').waitFor()
    t.match(await page.locator('.why a').first().getAttribute('href'), '#/m/shop.Company/')
    t.equal(await save.count(), 0, 'what is refused cannot be saved')
    await field('Town').getByLabel('No two records have the same').uncheck()

    await field('Town').getByLabel('Name', { exact: true }).fill('city')
    await field('Town').getByLabel('Name', { exact: true }).press('Tab')
    await page.getByText('city · Text').waitFor()
    await look()
    await page.getByText('will rename').waitFor()
    await page.getByRole('button', { name: 'Keep as a draft' }).click()
    await page.getByText('There is a draft by admin').waitFor()
    const eve = await visitAs(t, browser, app, '#/models', { username: 'eve' })
    await eve.page.getByText('draft by admin').waitFor()
    await eve.page.getByRole('link', { name: 'shop.Company' }).click()
    await eve.page.getByRole('button', { name: 'Open the draft' }).click()
    await eve.page.getByText('city · Text').waitFor()

    await page.reload()
    await page.getByText('city · Text').waitFor()
    await look()
    await save.click()
    await page.getByText('The model is saved and served.').waitFor()
    t.match((await admin.get('/ws/rest/shop.Company/1')).body.data[0], { city: 'Köln', version: 0 })

    // Who opened the file before does not overwrite it.
    await eve.page.getByRole('button', { name: 'Show what happens' }).click()
    await eve.page.getByRole('button', { name: 'Save and serve it' }).click()
    await eve.page.getByText('was changed meanwhile').waitFor()

    await page.getByText('Earlier files').click()
    await page.getByRole('button', { name: 'Bring it back' }).click()
    await page.getByText('town · Text').waitFor()
    await look()
    await page.getByText('will rename').waitFor()
    await page.getByRole('button', { name: 'Discard the changes' }).click()
    await page.getByText('city · Text').waitFor()
    t.strictSame(
      complaints.filter((one) => !one.includes('409')),
      [],
    )
  })

  t.test('a new model, by hand and from files', async (t) => {
    const { page, complaints } = await visitAs(t, browser, app, '#/models')
    await page.getByRole('button', { name: 'New model', exact: true }).click()
    await page.getByLabel('What one record is called').fill('Task')
    await page.getByLabel('Name in the API and in files').fill('task')
    await page.getByRole('button', { name: 'Next' }).click()
    await page.getByText('Write it like shop.Order').waitFor()
    await page.getByLabel('Name in the API and in files').fill('todo.Task')
    await page.getByRole('button', { name: 'Next' }).click()
    await page.getByRole('button', { name: 'Add a field' }).click()
    await page.getByLabel('Kind').last().selectOption('date')
    await page.getByRole('button', { name: 'Show what happens' }).click()
    await page.getByRole('button', { name: 'Save and serve it' }).click()
    await page.getByRole('link', { name: 'Task' }).first().waitFor()
    t.equal((await admin.put('/ws/rest/todo.Task', { name: 'x', field: '2026-01-01' })).status, 200)

    // Who goes elsewhere while a model is saved stays there.
    const saving = Promise.withResolvers<void>()
    const held = Promise.withResolvers<void>()
    await page.route('**/ws/models/todo.Late', async (route) => {
      if (route.request().method() === 'PUT') {
        saving.resolve()
        await held.promise
      }
      await route.continue()
    })
    await page.goto(`${app.url}/#/models/todo.Late?title=Late`)
    await page.getByRole('button', { name: 'Add a field' }).click()
    await page.getByRole('button', { name: 'Show what happens' }).click()
    await page.getByRole('button', { name: 'Save and serve it' }).click()
    await saving.promise
    await page.goto(`${app.url}/#/models`)
    held.resolve()
    await page.getByText('The model is saved and served.').last().waitFor()
    await page.waitForTimeout(100)
    t.equal(new URL(page.url()).hash, '#/models')

    const csv = 'Kunde;Umsatz;Aktiv;Seit\nAda;1.234,50;ja;24.12.1980\nBob;0,5;nein;\n'
    await page.goto(`${app.url}/#/models/from-file`)
    const file = (name: string, buffer: Buffer) =>
      page.locator('input[type=file]').setInputFiles({ name, mimeType: 'text/csv', buffer })
    await file('Kunden 2026.csv', Buffer.from(csv))
    t.equal(await page.getByLabel('Name in the API and in files').inputValue(), 'data.Kunden2026')
    await page.getByLabel('Name in the API and in files').fill('crm.Kunde')
    t.equal(await page.getByLabel('Kind of Seit').inputValue(), 'date')
    await page.getByLabel('Kind of Umsatz').selectOption('number')
    await page.getByRole('button', { name: 'Make the model' }).click()
    await page.getByRole('button', { name: 'Check it' }).click()
    await page.getByRole('button', { name: 'Import it' }).click()
    await page.getByText('2 records added').waitFor()
    t.match((await admin.get('/ws/rest/crm.Kunde/1')).body.data[0], {
      kunde: 'Ada',
      umsatz: 1234.5,
      aktiv: true,
      seit: '1980-12-24',
    })

    const book = createWorkbook(
      'People',
      ['Name', 'Company'].map((title) => ({ title, width: 9 })),
    )
    const rows = book.pack(
      book.row([{ text: 'Zoe' }, { text: 'Bolt' }]) + book.row([{ text: 'Max' }, { text: 'None' }]),
    )
    // A file is chosen before the page knows how companies are named.
    const isChosen = Promise.withResolvers<void>()
    await page.route('**/ws/meta/fields/shop.Company', async (route) => {
      await isChosen.promise
      await route.continue()
    })
    await page.goto(`${app.url}/#/m/shop.Person/import`)
    await page.getByRole('heading', { name: 'Import Person records' }).waitFor()
    await file('people.xlsx', Buffer.concat([rows, book.end()]))
    isChosen.resolve()
    await page.getByLabel('Field for the column Company').waitFor()
    t.equal(await page.getByLabel('Field for the column Company').inputValue(), 'company.name', 'by name')
    await page.getByRole('button', { name: 'Check it' }).click()
    await page.getByText('there is no shop.Company of this name').waitFor()
    await file('broken.xlsx', Buffer.from('PK nothing'))
    await page.getByText('is no .xlsx file').waitFor()
    t.strictSame(
      complaints.filter((one) => !/4(?:00|04|22)/.test(one)),
      [],
    )
  })

  t.test('what is typed on a cell replaces its value', async (t) => {
    const { page, complaints } = await visitAs(t, browser, app, '#/m/shop.Company')
    await page.locator('#cell-0-1').click()
    await page.keyboard.type('new town')
    await page.locator('.cell.editing input').waitFor()
    await page.keyboard.press('Enter')
    await page.getByText('new town').waitFor()
    await page.goto(`${app.url}/#/m/shop.Person`)
    await page.locator('#cell-0-0').waitFor()
    await page.keyboard.press('ArrowRight')
    await page.keyboard.type('bol')
    await page.getByRole('option', { name: 'Bolt' }).waitFor()
    await page.keyboard.press('Enter')
    await page.locator('.rows').getByText('Bolt').waitFor()
    t.match((await admin.get('/ws/rest/shop.Person/1')).body.data[0], { company: 2 })
    t.strictSame(complaints, [])
  })

  t.test('a chart is a view like any other', async (t) => {
    const { page, complaints } = await visitAs(t, browser, app, '#/m/shop.Company/summary?summary.group=state')
    await page.getByRole('button', { name: 'Save or change views' }).click()
    await page.getByLabel('Name of this view').fill('By state')
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    const views = page.getByRole('navigation', { name: 'Views' })
    await views.locator('[aria-current]', { hasText: 'By state' }).waitFor()
    await views.getByRole('link', { name: 'All companies' }).click()
    await page.getByRole('grid').waitFor()
    await views.getByRole('link', { name: 'By state' }).click()
    await page.locator('svg.summary').waitFor()
    t.equal(await page.getByLabel('Group by').inputValue(), 'state')
    t.strictSame(complaints, [])
  })

  t.test('the page in German', async (t) => {
    const options = { locale: 'de-AT', username: 'eve' }
    const cookie = String((await app.login('eve')).cookie)
    const { page, complaints } = await visit(t, browser, app, '#/m/shop.Company', { ...options, cookie })
    await page.getByRole('link', { name: 'Alle Firmen' }).waitFor()
    t.equal(await page.evaluate('document.documentElement.lang'), 'de')
    await page.locator('.pill', { hasText: 'neu' }).waitFor()
    await page.getByText('2 Firmen').first().waitFor()
    await page
      .getByRole('link', { name: 'ACME' })
      .click({ modifiers: ['Control'] })
      .catch(() => {})
    await page.goto(`${app.url}/#/m/shop.Company/1`)
    await page.getByText('Geändert').first().waitFor()
    await page.getByRole('link', { name: 'Bearbeiten' }).click()
    await page.getByLabel('Name').fill('Bolt')
    await page.getByRole('button', { name: 'Speichern' }).click()
    await page.getByText('ist schon vergeben').first().waitFor()
    await page.getByLabel('Name').fill('ACME')
    await page.getByLabel('Stand').selectOption({ label: 'alt' })
    await page.getByRole('button', { name: 'Speichern' }).click()
    await page.locator('.pill', { hasText: 'alt' }).first().waitFor()
    t.match(
      (await admin.get('/ws/rest/shop.Company/1')).body.data[0],
      { state: 'old' },
      'the value is that of the file',
    )
    await page.goto(`${app.url}/#/me`)
    await page.getByLabel('Sprache der Seite').selectOption({ label: 'English' })
    await page.getByLabel('Language of the page').waitFor()
    t.equal(await page.evaluate('document.documentElement.lang'), 'en')
    t.strictSame(
      complaints.filter((one) => !one.includes('409')),
      [],
    )
  })
}
