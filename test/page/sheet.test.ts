import type { Page } from 'playwright-core'
import t from 'tap'
import { startBrowser } from '../browser.ts'
import { startApp } from '../helper.ts'
import { importPeople, MODELS } from './models.ts'
import { until, visitAs } from './visitor.ts'

/** A table as those use it who know spreadsheets. */

const PERSON = '/ws/rest/shop.Person'

const browser = await startBrowser(t)
if (browser) {
  const app = await startApp(t, { models: MODELS })
  const admin = await app.login()
  await importPeople(admin, 100)
  await admin.put('/ws/users', { username: 'sue', password: 'correct-horse-battery', roles: [] })
  const read = async (id: number) => (await admin.get(`${PERSON}/${id}`)).body.data[0]

  const open = async (t: Parameters<typeof visitAs>[0], path: string) => {
    const visitor = await visitAs(t, browser, app, path, { permissions: ['clipboard-read', 'clipboard-write'] })
    return { ...visitor, press: pressing(visitor.page) }
  }
  const pressing =
    (page: Page) =>
    async (...keys: string[]) => {
      for (const key of keys) await page.keyboard.press(key)
    }

  t.test('a cell is edited where it is, and undone', async (t) => {
    const { page, complaints, press } = await open(t, '#/m/shop.Person')
    await page.getByRole('link', { name: 'Person 1', exact: true }).waitFor()
    await page.getByRole('grid').focus()
    await press('Enter')
    await page.getByRole('textbox', { name: 'Name' }).waitFor()
    await page.keyboard.type('Ada')
    await press('Tab')
    await page.getByRole('link', { name: 'Ada', exact: true }).waitFor()
    t.match(await read(1), { name: 'Ada', version: 1 })
    await press('ArrowRight', 'F2')
    await page.getByRole('textbox', { name: 'Age' }).fill('999')
    await press('Enter')
    await page.getByRole('alert').getByText('Age must be <= 150').waitFor()
    t.match(await read(1), { age: 18 }, 'nothing is saved')
    await press('ArrowUp', 'Enter')
    t.equal(await page.getByRole('textbox', { name: 'Age' }).inputValue(), '999', 'what was typed is still there')
    await page.getByRole('textbox', { name: 'Age' }).fill('19')
    await press('Enter')
    await page.locator('#cell-0-2', { hasText: '19' }).waitFor()
    await until(async () => (await read(1)).version >= 2)
    await press('Enter')
    await page.getByRole('textbox', { name: 'Age' }).fill('77')
    await press('Escape')
    t.match(await read(2), { age: 19, version: 0 }, 'Esc leaves it')
    await press('Control+z')
    await page.getByText('Undone: Ada.').waitFor()
    await until(async () => (await read(1)).age === 18)
    await press('Control+z')
    await page.getByRole('link', { name: 'Person 1', exact: true }).waitFor()
    await press('Control+z')
    await page.getByText('There is nothing to undo.').waitFor()
    t.strictSame(
      complaints.filter((one) => !one.includes('422')),
      [],
    )
  })

  t.test('dates and choices are typed too, and forms are undone', async (t) => {
    const { page, press } = await open(t, '#/m/shop.Person?fields=name,born,level,active')
    await page.getByRole('link', { name: 'Person 20', exact: true }).waitFor()
    await page.locator('#cell-19-1').click()
    await page.keyboard.type('24.12.1999')
    // The input is loaded when it is first needed; what is typed after Tab meanwhile is dropped.
    await page.locator('.cell.editing input').waitFor()
    await press('Tab')
    await page.keyboard.type('lea')
    await press('Tab')
    await page.keyboard.type('no')
    await press('Enter')
    await until(async () => (await read(20)).version === 3)
    t.match(await read(20), { born: '1999-12-24', level: 'lead', active: false })
    await page.locator('#cell-19-1').click()
    await page.keyboard.type('11022025')
    await press('Enter')
    await page.getByRole('alert').getByText('Born is no day').waitFor()
    t.match(await read(20), { born: '1999-12-24', version: 3 }, 'nothing else is saved')
    await press('Escape')

    await page.goto(`${app.url}/#/m/shop.Person/21/edit`)
    await page.getByLabel('Name').fill('By a form')
    await press('Control+s')
    await until(async () => (await read(21)).name === 'By a form')
    await page.getByText('By a form is saved.').waitFor()
    await page.locator('body').click({ position: { x: 2, y: 2 } })
    await press('Control+z')
    await page.getByText('Undone: By a form.').waitFor()
    t.match(await read(21), { name: 'Person 21', version: 2 })
    t.match(await read(20), { level: 'lead' }, 'what was changed before stays')
  })

  t.test('who leaves the table by an edit is told of', async (t) => {
    const { page, press } = await open(t, '#/m/shop.Person?fields=name,level&level=senior&id[gte]=30&id[lte]=40')
    await page.locator('.rows a.opens').first().waitFor()
    const name = await page.locator('.rows a.opens').first().textContent()
    await page.locator('#cell-0-1').click()
    await page.keyboard.type('junior')
    await press('Enter')
    await page.getByText(`${name} stands elsewhere in the table now, or is filtered out.`).waitFor()
    await page.getByRole('button', { name: 'Open it' }).click()
    await page.getByRole('heading', { name: name as string }).waitFor()
  })

  t.test('who was faster is not overruled unseen', async (t) => {
    const { page, press } = await open(t, '#/m/shop.Person')
    await page.getByRole('link', { name: 'Person 3', exact: true }).waitFor()
    await page.locator('#cell-2-2').click()
    await press('F2')
    const input = page.getByRole('textbox', { name: 'Age' })
    await input.fill('33')
    await admin.post(`${PERSON}/3`, { version: 0, age: 44 })
    await press('Enter')
    await page
      .getByRole('alert')
      .getByText(/^admin has changed this meanwhile, to: 44/)
      .waitFor()
    t.match(await read(3), { age: 44, version: 1 })
    await page.locator('#cell-2-2').click()
    await press('Enter')
    t.equal(await input.inputValue(), '33', 'what was typed is still there')
    await press('Enter')
    await until(async () => (await read(3)).age === 33)
    // The service has saved it before the page knows that.
    await page.locator('.editing').waitFor({ state: 'detached' })
    await press('ArrowUp', 'ArrowRight', 'Enter')
    await page.getByRole('combobox', { name: 'Company' }).fill('pany 9')
    await page.getByRole('option', { name: 'Company 9' }).click()
    await until(async () => (await read(3)).company === 9)
  })

  t.test('what is typed takes the place of a reference, though its name comes late', async (t) => {
    const { page, press } = await open(t, '#/m/shop.Person')
    const { promise: isTime, resolve: goOn } = Promise.withResolvers<void>()
    await page.route('**/ws/rest/shop.Company/5', async (route) => {
      await isTime
      await route.continue()
    })
    await page.getByRole('link', { name: 'Person 5', exact: true }).waitFor()
    await page.locator('#cell-4-3').click()
    await press('Enter')
    const input = page.getByRole('combobox', { name: 'Company' })
    t.equal(await input.inputValue(), '#5')
    goOn()
    await until(async () => (await input.inputValue()) === 'Company 5')
    await page.keyboard.type('pany 9')
    t.equal(await input.inputValue(), 'pany 9')
    await page.getByRole('option', { name: 'Company 9' }).click()
    await until(async () => (await read(5)).company === 9)
  })

  t.test('a record that moves away while its cell is edited', async (t) => {
    const { page, press } = await open(t, '#/m/shop.Person?sort=-age&id[gte]=60')
    await page.locator('.rows a.opens').first().waitFor()
    const first = Number(/\d+/.exec((await page.locator('.rows a.opens').first().textContent()) ?? '')?.[0])
    await page.locator('#cell-0-1').click({ position: { x: 3, y: 3 } })
    await press('Enter')
    await page.getByRole('textbox', { name: 'E-mail' }).fill('typed@example.org')
    await admin.post(`${PERSON}/${first}`, { version: (await read(first)).version, age: 1 })
    await page
      .locator('.rows a.opens')
      .first()
      .filter({ hasText: `Person ${first}` })
      .waitFor({ state: 'detached' })
    await until(
      async () => (await read(first)).email === 'typed@example.org' || (await page.locator('.editing').count()) === 1,
    )
    if ((await page.locator('.editing').count()) === 1) await press('Enter')
    await until(async () => (await read(first)).email === 'typed@example.org')
    t.match(await read(first), { age: 1 }, 'what somebody else has changed meanwhile stays')
    const others = (await admin.get(`${PERSON}?email=typed@example.org`)).body
    t.equal(others.total, 1, 'no other record was written')
  })

  t.test('cells go to a spreadsheet, and come back', async (t) => {
    const { page, press } = await open(t, '#/m/shop.Person?sort=id&fields=name,age,company,level,active')
    await page.getByRole('link', { name: 'Person 10', exact: true }).waitFor()
    await page.locator('#cell-9-0').click({ position: { x: 150, y: 10 } })
    await press('Shift+ArrowDown', 'Shift+ArrowRight', 'Shift+ArrowRight', 'Control+c')
    const copied = await page.evaluate<string>('navigator.clipboard.readText()')
    t.equal(copied, 'Person 10\t27\tCompany 10\nPerson 11\t28\tCompany 11')
    const paste = async (cell: string, text: string) => {
      await page.locator(cell).click({ position: { x: 5, y: 5 } })
      await page.evaluate(`navigator.clipboard.writeText(${JSON.stringify(text)})`)
      await press('Control+v')
    }
    await paste('#cell-11-1', '40\tCompany 1\tLEAD\tja\n41\tCompany 2\tjunior\tno')
    await until(async () => (await read(13)).age === 41)
    t.match(await read(12), { age: 40, company: 1, level: 'lead', active: true })
    t.match(await read(13), { age: 41, company: 2, level: 'junior', active: false })
    // The record may be written before the page has the answer, and until then there is nothing to undo.
    await until(async () => {
      await press('Control+z')
      return (await read(13)).age === 30
    })
    t.match(await read(12), { age: 29, company: 12 }, 'all of it is undone')
    await paste('#cell-11-1', 'many\tNobody Ltd.')
    const dialog = page.getByRole('dialog', { name: 'Paste' })
    await dialog.getByText('names no record').waitFor()
    await dialog.getByText('is not a number').waitFor()
    await dialog.getByRole('button', { name: 'Cancel' }).click()
    await paste('#cell-0-1', Array.from({ length: 21 }, (_, at) => String(50 + at)).join('\n'))
    await dialog.getByText('21 cells will be changed').waitFor()
    await dialog.getByRole('button', { name: 'Change 21 cells' }).click()
    await until(async () => (await read(21)).age === 70)
  })

  t.test('a record beside the table, and columns in another order', async (t) => {
    const { page, press } = await open(t, '#/m/shop.Person')
    await page.getByRole('link', { name: 'Person 5', exact: true }).click()
    const panel = page.getByRole('complementary', { name: 'Record' })
    await panel.getByRole('heading', { name: 'Person 5' }).waitFor()
    await panel.getByRole('button', { name: 'Next record' }).click()
    await panel.getByRole('heading', { name: 'Person 6' }).waitFor()
    await page.locator('#cell-7-1').click({ position: { x: 3, y: 3 } })
    await panel.getByRole('heading', { name: 'Person 8' }).waitFor()
    await page.goBack()
    await panel.waitFor({ state: 'detached' })
    await page.getByRole('columnheader', { name: 'Age' }).getByRole('button').focus()
    await press('Alt+ArrowLeft')
    await page.waitForURL(/fields=name%2Cage%2Cemail/)
    await page.getByRole('separator', { name: 'Width of Age' }).focus()
    await press('ArrowRight')
    await page.waitForURL(/table\.widths=age%3A\d+/)
  })

  t.test('board and calendar', async (t) => {
    const { page, press } = await open(t, '#/m/shop.Person?name[like]=Person%202%25&table.board=level')
    const lead = page.getByRole('region', { name: 'lead' })
    await lead.getByRole('link', { name: 'Person 27' }).focus()
    await press('Alt+ArrowLeft')
    await page.getByRole('region', { name: 'senior' }).getByRole('link', { name: 'Person 27' }).waitFor()
    t.match(await read(27), { level: 'senior' })
    await page
      .getByRole('region', { name: 'junior' })
      .getByRole('listitem')
      .filter({ hasText: 'Person 22' })
      .dragTo(page.getByRole('region', { name: 'lead' }))
    await lead.getByRole('link', { name: 'Person 22' }).waitFor()
    await page.goto(`${app.url}/#/m/shop.Person?table.board=company`)
    await page
      .getByRole('region', { name: 'Company 4', exact: true })
      .getByRole('link', { name: 'Person 4', exact: true })
      .waitFor()
    await page.goto(`${app.url}/#/m/shop.Person?table.calendar=born&table.month=1980-01`)
    await page.getByRole('heading', { name: 'January 1980' }).waitFor()
    await page.getByRole('link', { name: '6 more' }).first().waitFor()
    await page.getByRole('button', { name: 'Next month' }).click()
    await page.getByRole('heading', { name: 'February 1980' }).waitFor()
    await page.goto(`${app.url}/#/m/shop.Person?table.calendar=seen&table.month=2026-01`)
    await page.getByRole('link', { name: 'Person 1', exact: true }).waitFor()
  })

  t.test('a view that others see first', async (t) => {
    const { page } = await open(t, '#/m/shop.Company?town=Town%201')
    await page.getByRole('button', { name: 'Save or change views' }).click()
    await page.getByLabel('Name of this view').fill('Town one')
    await page.getByLabel('Who sees it').selectOption({ label: 'everybody' })
    await page.getByLabel('Open the table with it').check()
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    const sue = await visitAs(t, browser, app, '#/m/shop.Company', { username: 'sue' })
    await sue.page.getByText('Town is Town 1').waitFor()
    await sue.page.getByRole('navigation', { name: 'Views' }).getByRole('link', { name: 'All company' }).click()
    await sue.page.locator('.total', { hasText: /^20 / }).waitFor()
    await page.getByRole('button', { name: 'Save or change views' }).click()
    await page.getByRole('button', { name: 'Remove', exact: true }).click()
    await page.getByText('The view Town one is removed.').waitFor()
  })

  t.test('what was not saved is found again, and versions are compared', async (t) => {
    const { page } = await open(t, '#/m/shop.Person/new?company=3')
    await page.getByLabel('Name').fill('Half done')
    await page.goto(`${app.url}/#/m/shop.Person/new?company=4`)
    const company = page.getByRole('combobox', { name: 'Company' })
    await until(async () => (await company.inputValue()) === 'Company 4')
    t.equal(await page.getByLabel('Name').inputValue(), '', 'another address has another draft')
    await page.goto(`${app.url}/#/m/shop.Person`)
    await page.getByText('Not saved yet:').getByRole('link', { name: 'Half done' }).waitFor()
    await page.goto(`${app.url}/#/`)
    await page.getByRole('link', { name: /Half done/ }).click()
    await page.getByText(/This is what you typed before and have not saved: Half done/).waitFor()
    await page.getByRole('button', { name: 'Discard it' }).click()
    await admin.post(`${PERSON}/50`, { version: 0, name: 'Other', age: 20 })
    await page.goto(`${app.url}/#/m/shop.Person/50`)
    await page.getByRole('button', { name: 'Compare versions…' }).click()
    await page.getByRole('button', { name: 'Bring back Name' }).click()
    await page.getByRole('heading', { name: 'Person 50' }).waitFor()
    t.match(await read(50), { name: 'Person 50', age: 20, version: 2 })
  })
}
