import { createServer } from 'node:http'
import t from 'tap'
import { startBrowser } from '../browser.ts'
import { startApp, writeModel } from '../helper.ts'
import { COMPANY, PERSON } from './models.ts'
import { until, visitAs } from './visitor.ts'

/** What is seldom met: no models, no history, a refused change, a service that goes and comes. */

const PLAIN = { ...COMPANY, title: 'Plain', history: false }
const OWN = {
  ...COMPANY,
  title: 'Own',
  access: { read: [{ role: '*', where: 'own' }], create: ['*'], update: [{ role: '*', where: 'own' }], delete: [] },
}
const BOX = { title: 'Box', type: 'object', properties: { text: { type: 'string' } }, access: { create: ['*'] } }

const line = (onDelete: string) => ({
  title: onDelete === 'clear' ? 'Note' : 'Line',
  type: 'object',
  properties: { text: { type: 'string' }, plain: { type: 'integer', title: 'Plain', reference: 'a.Plain', onDelete } },
})

const ORDER = {
  title: 'Order',
  type: 'object',
  properties: {
    code: { type: 'string', title: 'Code', unique: true },
    lines: { inverse: 'b.Line.order', title: 'Lines' },
  },
  required: ['code'],
  nameField: 'code',
}
const ORDER_LINE = {
  title: 'Order line',
  type: 'object',
  properties: {
    product: { type: 'string', title: 'Product' },
    qty: { type: 'integer', title: 'Quantity', minimum: 1 },
    order: { type: 'integer', title: 'Order', reference: 'b.Order', onDelete: 'cascade' },
  },
  required: ['qty', 'order'],
}

const TAG = {
  title: 'Tag',
  type: 'object',
  properties: { name: { type: 'string', title: 'Name' }, tasks: { inverse: 'c.Task.tags', title: 'Tasks' } },
  nameField: 'name',
}
const TASK = {
  title: 'Task',
  type: 'object',
  properties: {
    name: { type: 'string', title: 'Name' },
    tags: { type: 'array', title: 'Tags', items: { type: 'integer', reference: 'c.Tag', onDelete: 'clear' } },
  },
  list: ['name', 'tags'],
}

const browser = await startBrowser(t)
if (browser) {
  const models = {
    'shop.Person.json': PERSON,
    'shop.Company.json': COMPANY,
    'a.Plain.json': PLAIN,
    'a.Own.json': OWN,
    'a.Box.json': BOX,
    'a.Line.json': line('cascade'),
    'a.Note.json': line('clear'),
    'b.Order.json': ORDER,
    'b.Line.json': ORDER_LINE,
    'c.Tag.json': TAG,
    'c.Task.json': TASK,
  }
  const app = await startApp(t, { models })
  const admin = await app.login()
  await admin.put('/ws/users', { username: 'sue', password: 'correct-horse-battery', roles: [] })

  t.test('without a history the page compares by itself', async (t) => {
    const { id } = (await admin.put('/ws/rest/a.Plain', { name: 'One', town: 'Rome' })).body.data[0]
    const { page } = await visitAs(t, browser, app, `#/m/a.Plain/${id}/edit`)
    await page.getByRole('textbox', { name: 'Name', exact: true }).fill('Two')
    await admin.post(`/ws/rest/a.Plain/${id}`, { version: 0, town: 'Paris' })
    await page
      .getByText('Nothing is kept')
      .or(page.getByRole('button', { name: 'Save' }))
      .waitFor()
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('What others had changed was kept: Town').waitFor()
    t.match((await admin.get(`/ws/rest/a.Plain/${id}`)).body.data[0], { name: 'Two', town: 'Paris', version: 2 })
    await page.getByRole('link', { name: 'Edit' }).click()
    await page.getByRole('textbox', { name: 'Name', exact: true }).fill('Mine')
    await admin.post(`/ws/rest/a.Plain/${id}`, { version: 2, name: 'Theirs' })
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('dialog').getByLabel('Theirs').check()
    await page.getByRole('button', { name: 'Save what I chose' }).click()
    await page.getByRole('heading', { name: 'Theirs' }).waitFor()
    t.match(
      (await admin.get(`/ws/rest/a.Plain/${id}`)).body.data[0],
      { name: 'Theirs', version: 3 },
      'nothing was sent',
    )
  })

  t.test('before something is deleted it is said what goes along', async (t) => {
    const { id } = (await admin.put('/ws/rest/a.Plain', { name: 'Whole' })).body.data[0]
    const { page } = await visitAs(t, browser, app, `#/m/a.Plain/${id}`)
    const dialog = page.getByRole('dialog')
    await page.getByRole('button', { name: 'Delete' }).click()
    await dialog.getByText('It cannot be brought back: no history is kept of these records.').waitFor()
    await dialog.getByRole('button', { name: 'Cancel' }).click()
    for (let nth = 0; nth < 3; nth++) await admin.put('/ws/rest/a.Line', { plain: id })
    await admin.put('/ws/rest/a.Note', { plain: id })
    await page.getByRole('button', { name: 'Delete' }).click()
    await dialog.getByText('3 Line records are deleted as well.').waitFor()
    await dialog.getByText('1 Note record loses its Plain.').waitFor()
    await dialog.getByRole('button', { name: 'Delete' }).click()
    await page.getByText('Whole is deleted').waitFor()
    t.equal((await admin.get('/ws/rest/a.Line?limit=0')).body.total, 0)
    const company = (await admin.put('/ws/rest/shop.Company', { name: 'Kept' })).body.data[0]
    await page.goto(`${app.url}/#/m/shop.Company/${company.id}`)
    await page.getByRole('button', { name: 'Delete' }).click()
    await dialog.getByText('What is deleted here can be brought back, as long as its history is kept.').waitFor()
    await dialog.getByRole('button', { name: 'Cancel' }).click()
  })

  t.test('an order and its lines: written, shown, changed, deleted and brought back as one', async (t) => {
    const { page, complaints } = await visitAs(t, browser, app, '#/m/b.Order/new')
    const lines = async () =>
      (await admin.get('/ws/rest/b.Line?fields=product,qty')).body.data.map(
        ({ product, qty }: { product: string; qty: number }) => `${qty} ${product}`,
      )
    await page.getByRole('textbox', { name: 'Code' }).fill('A7')
    await page.getByRole('button', { name: 'Add to Lines' }).click()
    for (const [product, qty, end] of [
      ['tea', '2', 'Enter'],
      ['milk', '0', 'Enter'],
      ['rice', '5', 'Tab'],
    ] as [string, string, string][]) {
      await page.keyboard.type(product)
      await page.keyboard.press('Tab')
      await page.keyboard.type(qty)
      await page.keyboard.press(end)
    }
    await page.keyboard.press('Control+s')
    await page.locator('tr.wrong').getByText('must be >= 1').waitFor()
    t.strictSame(await lines(), [], 'nothing was saved')
    await page.getByLabel('Quantity, Lines 2').fill('4')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('heading', { name: 'A7' }).waitFor()
    t.strictSame(await lines(), ['2 tea', '4 milk', '5 rice'])
    const table = page.getByRole('region', { name: 'Lines' })
    await table.getByRole('heading', { name: 'Lines (3)' }).waitFor()
    await table
      .getByRole('row', { name: /Sum of all/ })
      .getByText('11')
      .waitFor()

    await page.getByRole('link', { name: 'Edit' }).click()
    await page.getByLabel('Quantity, Lines 1').fill('3')
    await page.getByRole('button', { name: 'Remove Lines 2' }).click()
    await page.getByRole('button', { name: 'Remove Lines 3' }).click()
    await page.getByRole('button', { name: 'Keep Lines 3' }).click()
    await page.reload()
    await page.getByText(/This is what you typed before and have not saved/).waitFor()
    await page.getByLabel('Quantity, Lines 1').waitFor()
    await admin.post('/ws/rest/b.Line/1', { version: 0, product: 'green tea' })
    await page.getByRole('button', { name: 'Save' }).click()
    await page
      .locator('tr.wrong')
      .getByText(/is not the current one/)
      .waitFor()
    await until(async () => (await page.locator('tbody input').first().inputValue()) === 'green tea')
    t.equal(await page.getByLabel('Quantity, Lines 1').inputValue(), '3', 'what was typed is still there')
    await page.getByRole('button', { name: 'Save' }).click()
    await table.getByRole('heading', { name: 'Lines (2)' }).waitFor()
    t.strictSame(await lines(), ['3 green tea', '5 rice'])

    await page.getByRole('button', { name: 'Delete' }).click()
    await page.getByRole('dialog').getByText('2 Order line records are deleted as well.').waitFor()
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
    await page.getByText('A7 is deleted').waitFor()
    t.strictSame(await lines(), [])
    await page.getByRole('button', { name: 'Undo' }).click()
    await table.getByRole('heading', { name: 'Lines (2)' }).waitFor()
    t.strictSame(await lines(), ['3 green tea', '5 rice'])
    t.strictSame(
      complaints.filter((one) => !/4(?:09|22)/.test(one)),
      [],
    )
  })

  t.test('several references: chosen, shown, filtered, changed in many, deleted and brought back', async (t) => {
    for (const name of ['urgent', 'later', 'never']) await admin.put('/ws/rest/c.Tag', { name })
    await admin.put('/ws/rest/c.Task', { name: 'Call', tags: [2] })
    const { page, complaints } = await visitAs(t, browser, app, '#/m/c.Task/new')
    const tagsOf = async (id: number) => (await admin.get(`/ws/rest/c.Task/${id}`)).body.data[0].tags
    const input = page.getByRole('combobox', { name: 'Tags' })
    const chosen = page.getByRole('list', { name: 'Tags: chosen' }).getByRole('listitem')
    await page.getByRole('textbox', { name: 'Name' }).fill('Write')
    await input.click()
    await page.getByRole('option', { name: /never/ }).click()
    await page.keyboard.type('lat')
    await page.getByRole('option', { name: /later/ }).waitFor()
    await page.keyboard.press('Enter')
    await page.keyboard.type('urg')
    await page.getByRole('option', { name: /urgent/ }).waitFor()
    await page.keyboard.press('Tab')
    await chosen.nth(2).getByText('urgent').waitFor()
    await page.getByRole('button', { name: 'Remove later' }).click()
    await page.keyboard.type('x')
    await input.fill('nobody')
    await page.keyboard.press('Control+s')
    await page.getByText('names no record: choose one from the list').first().waitFor()
    await input.fill('')
    await page.keyboard.press('Backspace')
    await until(async () => (await page.locator('.links .chip').count()) === 1)
    await input.fill('urgent')
    await page.getByRole('option', { name: /urgent/ }).click()
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('heading', { name: 'Write' }).waitFor()
    t.strictSame(await tagsOf(2), [3, 1])
    await page.getByRole('link', { name: 'urgent' }).click()
    const tasks = page.getByRole('region', { name: 'Tasks' })
    await tasks.getByRole('heading', { name: 'Tasks (1)' }).waitFor()
    await tasks.getByRole('link', { name: 'New Task' }).click()
    await chosen.first().getByText('urgent').waitFor()
    await page.getByRole('textbox', { name: 'Name' }).fill('Third')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('heading', { name: 'Third' }).waitFor()
    t.strictSame(await tagsOf(3), [1])

    // Two people change the same: what both have done is there.
    await page.getByRole('link', { name: 'Edit' }).click()
    await chosen.first().getByText('urgent').waitFor()
    await input.fill('never')
    await page.getByRole('option', { name: /never/ }).click()
    await admin.post('/ws/rest/c.Task/3', { version: 0, tags: [2] })
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('link', { name: 'later' }).waitFor()
    t.strictSame(await tagsOf(3), [2, 3])
    await admin.post('/ws/rest/c.Task/3', { version: 2, tags: [1] })

    // In the table: a filter by names, and one of whether there are any.
    await page.goto(`${app.url}/#/m/c.Task`)
    await page.locator('.rows .chips').getByText('later').waitFor()
    const dialog = page.getByRole('dialog', { name: 'Filter' })
    await page.getByRole('button', { name: 'Filter', exact: true }).click()
    await dialog.getByLabel('Field').selectOption({ label: 'Tags' })
    await dialog.getByLabel('Comparison').selectOption({ label: 'has all of' })
    for (const name of ['never', 'urgent']) {
      await dialog.getByRole('combobox', { name: 'Value' }).fill(name)
      await dialog.getByRole('option', { name: new RegExp(name) }).click()
    }
    await dialog.getByRole('button', { name: 'Apply' }).click()
    await page.getByRole('button', { name: 'Tags has all of never, urgent', exact: true }).waitFor()
    await page.locator('.total', { hasText: /^1 / }).waitFor()
    await page.getByRole('button', { name: 'Remove the filter Tags has all of never, urgent' }).click()
    await page.getByRole('button', { name: 'Filter', exact: true }).click()
    await dialog.getByLabel('Field').selectOption({ label: 'Tags' })
    await dialog.getByLabel('Comparison').selectOption({ label: 'is not set' })
    await dialog.getByRole('button', { name: 'Apply' }).click()
    await page.getByRole('button', { name: 'Remove the filter Tags is not set' }).click()
    await page.getByRole('button', { name: 'Filter', exact: true }).click()
    await dialog.getByLabel('Field').selectOption({ label: 'Tags → Name' })
    await dialog.getByRole('textbox', { name: 'Value' }).fill('LATER')
    await dialog.getByRole('button', { name: 'Apply' }).click()
    await page.locator('.total', { hasText: /^1 / }).waitFor()
    await page.getByRole('button', { name: /^Remove the filter Tags → Name/ }).click()

    // In many records: added, and all of it undone.
    await page.locator('.rows .row').nth(2).waitFor()
    await page.locator('.rows').getByRole('checkbox').nth(0).check()
    await page.locator('.rows').getByRole('checkbox').nth(2).check()
    await page.getByRole('button', { name: 'Edit…' }).click()
    await page.getByLabel('Which field?').selectOption({ label: 'Tags' })
    await page.getByRole('combobox', { name: 'Tags', exact: true }).fill('never')
    await page.getByRole('option', { name: /never/ }).click()
    await page.locator('.preview ins').getByText('never').first().waitFor()
    await page.getByRole('button', { name: 'Change 2 records' }).click()
    await page.getByText('2 records done').waitFor()
    t.strictSame(
      [await tagsOf(1), await tagsOf(3)],
      [
        [2, 3],
        [1, 3],
      ],
    )
    await page.getByRole('button', { name: 'Undo' }).click()
    await page.getByText('2 records brought back').waitFor()
    t.strictSame([await tagsOf(1), await tagsOf(3)], [[2], [1]])
    await page.getByRole('button', { name: 'Close' }).last().click()

    await page.goto(`${app.url}/#/m/c.Task/summary?summary.group=tags`)
    await page
      .getByRole('row', { name: /urgent/ })
      .getByText('2')
      .waitFor()
    await page.getByRole('link', { name: 'urgent' }).click()
    await page.getByRole('button', { name: 'Tags has one of urgent', exact: true }).waitFor()

    await page.goto(`${app.url}/#/m/c.Tag/1`)
    await page.getByRole('button', { name: 'Delete' }).click()
    await page.getByRole('dialog').getByText('2 Task records have it taken out of Tags.').waitFor()
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
    await page.getByText('urgent is deleted').waitFor()
    t.strictSame(await tagsOf(2), [3])
    await page.getByRole('button', { name: 'Undo' }).click()
    await tasks.getByRole('heading', { name: 'Tasks (2)' }).waitFor()
    t.strictSame(await tagsOf(2), [3, 1])
    t.strictSame(complaints, [])
  })

  t.test('somebody who sees only their own, and may not delete', async (t) => {
    await admin.put('/ws/rest/a.Own', { name: 'Of admin' })
    const { page, complaints } = await visitAs(t, browser, app, '#/m/a.Own', { username: 'sue' })
    await page.getByRole('link', { name: 'Create the first one' }).click()
    await page.getByRole('textbox', { name: 'Name', exact: true }).fill('Of sue')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('heading', { name: 'Of sue' }).waitFor()
    t.equal(await page.getByRole('button', { name: 'Delete' }).count(), 0)
    await page.keyboard.press('Escape')
    await page.getByRole('link', { name: 'Of sue' }).waitFor()
    t.equal(await page.locator('.rows .row').count(), 1)
    await page.goto(`${app.url}/#/m/a.Own/1`)
    await page.getByText('Gone, or out of reach').waitFor()
    await page.goto(`${app.url}/#/m/a.Box`)
    await page.getByLabel('text').fill('for the box')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('#1 is saved').waitFor()
    t.equal(await page.getByLabel('text').inputValue(), '', 'and the next one')
    t.equal((await admin.get('/ws/rest/a.Box?text=for%20the%20box')).body.total, 1)
    t.strictSame(
      complaints.filter((one) => !one.includes('404')),
      [],
    )
  })

  t.test('filters of every kind', async (t) => {
    await admin.put('/ws/rest/shop.Person', {
      name: 'A',
      age: 20,
      born: '2000-01-01',
      seen: '2026-01-01T12:00:00Z',
      active: true,
    })
    await admin.put('/ws/rest/shop.Person', { name: 'B, "b" & 100%', age: 30, born: '1990-01-01', active: false })
    const { page, complaints } = await visitAs(t, browser, app, '#/m/shop.Person')
    const dialog = page.getByRole('dialog', { name: 'Filter' })
    const filter = async (field: string, comparison: string, fill: () => Promise<unknown>) => {
      await page.goto(`${app.url}/#/m/shop.Person`)
      // The result of the filter before has one record as well.
      await page.locator('.total', { hasText: /^2 / }).waitFor()
      await page.getByRole('button', { name: 'Filter', exact: true }).click()
      await dialog.getByLabel('Field').selectOption({ label: field })
      await dialog.getByLabel('Comparison').selectOption({ label: comparison })
      await fill()
      await dialog.getByRole('button', { name: 'Apply' }).click()
      await page.locator('.total', { hasText: /^1 / }).waitFor()
      return page.locator('.rows a').first().textContent()
    }
    const value = dialog.getByLabel('Value')
    t.equal(
      await filter('Age', 'between', async () => {
        await value.fill('15')
        await dialog.getByLabel('and').fill('25')
      }),
      'A',
    )
    t.equal(await filter('Born', 'before', () => value.fill('1995-01-01')), 'B, "b" & 100%')
    t.equal(await filter('Last seen', 'from', () => value.fill('2026-01-01T13:00')), 'A', 'in the zone of the page')
    t.equal(await filter('Name', 'does not contain', () => value.fill('100%')), 'A')
    t.equal(await filter('Age', 'is one of', () => dialog.getByLabel('Value, 1').fill('30')), 'B, "b" & 100%')
    t.equal(await filter('Last seen', 'is in', () => value.selectOption({ label: 'this year' })), 'A')
    await page.getByText('Last seen is in this year').waitFor()
    t.equal(await filter('Last seen', 'is not set', async () => {}), 'B, "b" & 100%')
    t.equal(await filter('Active', 'is', () => value.selectOption({ label: 'no' })), 'B, "b" & 100%')
    t.equal(await filter('Name', 'is', () => value.fill('B, "b" & 100%')), 'B, "b" & 100%')
    await page.getByRole('button', { name: /^Name is B/ }).click()
    await value.fill('A')
    await dialog.getByRole('button', { name: 'Apply' }).click()
    await page.getByRole('link', { name: 'A', exact: true }).waitFor()
    // One of several conditions: added, changed, removed.
    const either = page.getByRole('group', { name: 'One of these' })
    const apply = async (comparison: string, text: string) => {
      await dialog.getByLabel('Field').selectOption({ label: 'Age' })
      await dialog.getByLabel('Comparison').selectOption({ label: comparison })
      await value.fill(text)
      await dialog.getByRole('button', { name: 'Apply' }).click()
    }
    await page.getByRole('button', { name: 'Or another filter instead of Name is A' }).click()
    await apply('≥', '30')
    await either.getByText('Age ≥ 30').waitFor()
    await page.locator('.rows a').nth(1).waitFor()
    t.equal((await either.innerText()).replace(/\s+/g, ' '), 'Name is A × or Age ≥ 30 × or…')
    await either.getByRole('button', { name: 'Or another filter' }).click()
    await apply('is', '99')
    await either.getByText('Age is 99').waitFor()
    await either.getByRole('button', { name: 'Age ≥ 30', exact: true }).click()
    await apply('>', '30')
    await page.locator('.total', { hasText: /^1 / }).waitFor()
    await either.getByRole('button', { name: 'Remove the filter Age > 30' }).click()
    await either.getByRole('button', { name: 'Remove the filter Age is 99' }).click()
    await either.waitFor({ state: 'detached' })
    await page.getByRole('button', { name: 'Name is A', exact: true }).waitFor()
    await page.goto(`${app.url}/#/me`)
    await page.getByLabel('Times are in').selectOption('UTC')
    await page.goto(`${app.url}/#/m/shop.Person/1`)
    await page.getByText('1 Jan 2026, 12:00').first().waitFor()
    t.strictSame(complaints, [])
  })

  t.test('a table by groups, and with a foot', async (t) => {
    const acme = (await admin.put('/ws/rest/shop.Company', { name: 'Acme' })).body.data[0].id
    for (const [name, age, company] of [
      ['Gus', 40, acme],
      ['Hal', 50, acme],
      ['Ivy', 60, null],
    ])
      await admin.put('/ws/rest/shop.Person', { name, age, company, level: 'lead', born: `19${age}-03-05` })
    const { page, complaints } = await visitAs(t, browser, app, '#/m/shop.Person?level=lead')
    const menu = () => page.getByRole('button', { name: 'Group', exact: true }).click()
    await menu()
    await page.getByLabel('Below Age').selectOption({ label: 'Sum' })
    await page.locator('.sums').getByText('150').waitFor()
    await page.getByLabel('Below Age').selectOption({ label: 'Average' })
    await page.locator('.sums').getByText('50', { exact: true }).waitFor()
    await admin.put('/ws/rest/shop.Person', { name: 'Jon', age: 90, level: 'lead' })
    await page.locator('.sums').getByText('60', { exact: true }).waitFor()
    await page.getByLabel('Group by').selectOption({ label: 'Company' })
    await page.keyboard.press('Escape')
    const table = page.getByRole('region', { name: 'Person records by Company' })
    await table.getByRole('button', { name: 'Acme (2)' }).click()
    await table.getByRole('link', { name: 'Hal' }).first().waitFor()
    await table
      .getByRole('row', { name: /Acme \(2\)/ })
      .getByText('90', { exact: true })
      .waitFor()
    t.equal(await table.getByRole('link', { name: 'Ivy' }).count(), 0, 'of another group')
    await page.reload()
    await table.getByRole('link', { name: 'Gus' }).first().waitFor()
    await table.getByRole('button', { name: 'Acme (2)' }).click()
    await table.getByRole('link', { name: 'Gus' }).first().waitFor({ state: 'detached' })
    await menu()
    await page.getByLabel('Group by').selectOption({ label: 'Born, by year' })
    await page.keyboard.press('Escape')
    await page.getByRole('button', { name: '1960 (1)' }).click()
    await page.getByRole('link', { name: 'Ivy' }).first().waitFor()
    await page.setViewportSize({ width: 360, height: 740 })
    await page.getByRole('link', { name: 'Ivy' }).first().click()
    await page.getByRole('heading', { name: 'Ivy' }).waitFor()
    for (const { id } of (await admin.get('/ws/rest/shop.Person?level=lead')).body.data)
      await admin.delete(`/ws/rest/shop.Person/${id}`)
    t.strictSame(complaints, [])
  })

  t.test('a faulty file and a refused change, before the eyes of an admin', async (t) => {
    const { page } = await visitAs(t, browser, app, '#/state')
    const { age, ...properties } = PERSON.properties
    writeModel(app.folder, 'shop.Person.json', {
      ...PERSON,
      properties: { ...properties, age, name: { type: 'integer' } },
    })
    await app.service.reload()
    await page.getByText('The folder is not followed').waitFor()
    await page.getByRole('button', { name: 'Look again' }).click()
    await page.getByText('refused:').waitFor()
    await page.getByRole('listitem').filter({ hasText: 'refused:' }).getByRole('link', { name: '1' }).click()
    await page.getByRole('heading', { name: 'A', exact: true }).waitFor()
    writeModel(app.folder, 'shop.Person.json', {
      ...PERSON,
      properties: { ...PERSON.properties, age: { ...age, maximum: 25 } },
    })
    await app.service.reload()
    await page.goto(`${app.url}/#/state`)
    await page.getByText('1 stored record breaks the rules of age').waitFor()
    await page.getByRole('link', { name: '#2' }).waitFor()
    writeModel(app.folder, 'shop.Odd.json', '{ "type": ')
    await app.service.reload()
    await page.getByRole('button', { name: 'Look again' }).click()
    await page.getByRole('listitem').filter({ hasText: 'shop.Odd.json' }).first().waitFor()
    t.ok(await page.locator('.fault').count())
  })

  t.test('no models yet', async (t) => {
    const empty = await startApp(t, { models: {} })
    const { page, complaints } = await visitAs(t, browser, empty, '')
    await page.getByRole('heading', { name: 'Put a file into models/' }).waitFor()
    await page.getByText('shop.Shirt.json').waitFor()
    writeModel(empty.folder, 'shop.Shirt.json', await page.locator('pre').textContent())
    await empty.service.reload()
    await page.getByRole('heading', { name: 'Shirt' }).waitFor()
    t.strictSame(complaints, [])
    await page.getByRole('button', { name: 'admin' }).click()
    await Promise.all([page.waitForEvent('load'), page.getByRole('button', { name: 'Log out' }).click()])
    await page.getByLabel('Username').waitFor()
    t.equal((await page.context().cookies()).length, 0)
  })

  t.test('a service that goes and comes back', async (t) => {
    const mortal = await startApp(t, { models: { 'shop.Company.json': COMPANY } })
    const client = await mortal.login()
    await client.put('/ws/rest/shop.Company', { name: 'Before' })
    const { page } = await visitAs(t, browser, mortal, '#/m/shop.Company')
    await page.getByRole('link', { name: 'Before' }).waitFor()
    await page.goto(`${mortal.url}/#/m/shop.Company/new`)
    await page.getByRole('textbox', { name: 'Name', exact: true }).fill('After')
    const { port } = new URL(mortal.url)
    await mortal.close()
    // Whatever answers in its place does not speak as it does.
    const other = createServer((_request, response) => response.writeHead(502).end('<h1>Bad gateway</h1>'))
    await new Promise<void>((resolve) => other.listen(Number(port), '127.0.0.1', resolve))
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('not in its own words').waitFor()
    other.closeAllConnections()
    await new Promise((resolve) => other.close(resolve))
    const again = await startApp(t, { folder: mortal.folder, env: { PORT: port } })
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('heading', { name: 'After' }).waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('link', { name: 'After' }).waitFor()
    const late = await again.login()
    await late.put('/ws/rest/shop.Company', { name: 'Live again' })
    await page.getByRole('link', { name: 'Live again' }).waitFor()
    t.equal((await late.get('/ws/rest/shop.Company?name=After')).body.total, 1)
  })
}
