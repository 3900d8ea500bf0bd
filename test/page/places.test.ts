import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Locator, Page } from 'playwright-core'
import t from 'tap'
import { startBrowser } from '../browser.ts'
import { startApp } from '../helper.ts'
import { importPeople, MODELS } from './models.ts'
import { DESKTOP, PHONE, until, visit, visitAs } from './visitor.ts'

/** Every place of the page, as one person sees it. */

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

interface Axe {
  run(options: object): Promise<{ violations: { id: string; nodes: { html: string; failureSummary: string }[] }[] }>
}

const ALL = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']
/** In the dark other things are only as they are by day. */
const COLOURS = { type: 'rule', values: ['color-contrast', 'link-in-text-block'] }

/** What WCAG 2.2 AA finds wrong. */
async function barriers(page: Page, runOnly: unknown): Promise<string[]> {
  if (!(await page.evaluate('"axe" in globalThis'))) await page.evaluate(AXE)
  return page.evaluate(
    async (options) => {
      const { axe } = globalThis as unknown as { axe: Axe }
      const { violations } = await axe.run(options)
      return violations.flatMap(({ id, nodes }) => nodes.map((node) => `${id}: ${node.html} ${node.failureSummary}`))
    },
    // What is right is not wanted: to describe it takes longer than to find it.
    { runOnly, resultTypes: ['violations'], preload: false },
  )
}

/** Waits until an input shows a value: the name of a record comes a little later. */
const inputHas = (input: Locator, value: string) => until(async () => (await input.inputValue()) === value)

const browser = await startBrowser(t)
if (browser) {
  const app = await startApp(t, { models: MODELS })
  const admin = await app.login()
  await importPeople(admin)
  const [gone] = (await admin.put('/ws/rest/shop.Company', { name: 'Gone' })).body.data
  await admin.delete(`/ws/rest/shop.Company/${gone.id}`)
  await admin.put('/ws/users', { username: 'sue', password: 'correct-horse-battery', roles: ['sales'] })

  const PLACES: [path: string, sign: string][] = [
    ['#/', '.card'],
    ['#/m/shop.Person', '.rows a'],
    ['#/m/shop.Person?age[gte]=30&sort=-age&q=person', '.rows a'],
    ['#/m/shop.Person?name=nobody', '.empty'],
    ['#/m/shop.Person/1', '.history li'],
    ['#/m/shop.Person/99999', '.empty'],
    [`#/m/shop.Company/${gone.id}`, '.history li'],
    ['#/m/shop.Person/1/edit', 'form'],
    ['#/m/shop.Person/new', 'h1:has-text("New")'],
    ['#/m/shop.Person/import', '.drop'],
    ['#/m/shop.Company/deleted', 'tbody tr'],
    ['#/m/shop.Person/summary?summary.group=level&summary.chart=pie', 'tbody tr'],
    ['#/m/shop.Person/summary?summary.group=company&summary.value=avg(age)&summary.chart=line', 'tbody tr'],
    ['#/m/shop.Person/summary?summary.group=born:month&age[gt]=30', 'svg.summary rect'],
    ['#/m/shop.Person/summary', '.figure'],
    ['#/m/shop.Person?table.group=level&table.open="lead"', '.grouped tbody tr:nth-child(2)'],
    ['#/m/shop.Person?table.foot=age:avg&fields=name,partners,age', '.sums .hint'],
    ['#/people', 'tbody tr'],
    ['#/me', '.part li'],
    ['#/models', 'tbody tr'],
    ['#/models/shop.Person', '.model-field'],
    ['#/models/from-file', '.drop'],
    ['#/state', '.charts'],
    ['#/api', 'details'],
    ['#/nowhere', '.empty'],
  ]

  for (const [name, viewport] of Object.entries({ desktop: DESKTOP, phone: PHONE }))
    t.test(`nothing stands in anybody's way: ${name}`, async (t) => {
      const { page, complaints } = await visit(t, browser, app, '', { viewport })
      const look = async (place: string) => {
        t.strictSame(await barriers(page, ALL), [], place)
        await page.emulateMedia({ colorScheme: 'dark' })
        t.strictSame(await barriers(page, COLOURS), [], `${place}, dark`)
        const width = Number(await page.evaluate('document.documentElement.scrollWidth'))
        t.ok(width <= viewport.width, `${place} is no wider than the window (${width})`)
        await page.emulateMedia({ colorScheme: 'light' })
      }
      await page.getByLabel('Username').waitFor()
      await look('login')
      await page.context().addCookies([{ name: 'sid', value: String(admin.cookie).slice(4), url: app.url }])
      await page.reload()
      for (const [path, sign] of PLACES) {
        await page.goto(`${app.url}/${path}`)
        await page.locator(sign).first().waitFor()
        await look(`/${path}`)
      }
      t.strictSame(
        complaints.filter((one) => !one.includes('404')),
        [],
        'the console is empty',
      )
    })

  t.test('the first visit', async (t) => {
    const { page, complaints } = await visit(t, browser, app, '#/m/shop.Person/7')
    await page.getByLabel('Username').fill('admin')
    await page.getByLabel('Password').fill('wrong')
    await page.keyboard.press('Enter')
    await page.getByText('not right').waitFor()
    await page.getByLabel('Password').fill('correct-horse-battery')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Person 7' }).waitFor()
    t.match(page.url(), /#\/m\/shop\.Person\/7$/, 'one is where one wanted to go')
    await page.getByRole('link', { name: 'Company 7' }).waitFor()
    await page.getByText('2 Jan 2026, 11:00').first().waitFor()
    t.strictSame(
      complaints.filter((one) => !one.includes('401')),
      [],
    )
  })

  t.test('finding', async (t) => {
    const { page, complaints } = await visitAs(t, browser, app, '#/m/shop.Person')
    await page.getByRole('link', { name: 'Person 1', exact: true }).waitFor()
    await page.keyboard.press('/')
    await page.keyboard.type('14 pers')
    await page.waitForURL(/q=14(\+|%20)pers/)
    await page
      .locator('mark', { hasText: /^Pers$/ })
      .first()
      .waitFor()
    await page.keyboard.press('Escape')
    await page.locator('.total').getByText('1,500').waitFor()
    t.equal(await page.getByLabel('Search Person', { exact: true }).inputValue(), '', 'Esc clears the text and stays')
    await page.keyboard.type('"person 14"')
    await page.locator('.total').getByText('111').waitFor()
    await page.getByRole('button', { name: 'Age' }).click()
    await page.waitForURL(/sort=age/)
    await page.getByRole('button', { name: 'Age' }).click()
    await page.waitForURL(/sort=-age/)
    await page.getByRole('columnheader', { name: 'Company' }).getByRole('button').click()
    await page.waitForURL(/sort=company\.name/)
    await page.getByRole('columnheader', { name: 'Company' }).and(page.locator('[aria-sort=ascending]')).waitFor()
    await page.getByRole('button', { name: 'Age' }).click()
    await page.getByRole('button', { name: 'Filter', exact: true }).click()
    const dialog = page.getByRole('dialog', { name: 'Filter' })
    await dialog.getByLabel('Field').selectOption({ label: 'Level' })
    await dialog.getByLabel('senior').check()
    await dialog.getByLabel('lead').check()
    await dialog.getByRole('button', { name: 'Apply' }).click()
    await page.getByText('Level is one of senior, lead').waitFor()
    await page.getByRole('button', { name: 'Filter', exact: true }).click()
    await dialog.getByLabel('Field').selectOption({ label: 'Company' })
    await dialog.getByRole('combobox', { name: 'Value' }).fill('pany 8')
    await dialog.getByRole('option', { name: 'Company 8' }).click()
    await dialog.getByRole('button', { name: 'Apply' }).click()
    await page.getByText('Company is Company 8').waitFor()
    await page.getByRole('button', { name: 'Filter', exact: true }).click()
    await dialog.getByLabel('Field').selectOption({ label: 'Company → Town' })
    await dialog.getByLabel('Value').fill('town 1')
    await dialog.getByRole('button', { name: 'Apply' }).click()
    await page.getByRole('button', { name: 'Company → Town contains town 1', exact: true }).click()
    t.equal(await dialog.getByLabel('Value').inputValue(), 'town 1')
    await dialog.getByRole('button', { name: 'Cancel' }).click()
    const there = page.url()
    const other = await visitAs(t, browser, app, there.slice(app.url.length + 1))
    await other.page.getByText('Company is Company 8').waitFor()
    await other.page.getByRole('link', { name: 'Person 1428' }).waitFor()
    await page.getByRole('button', { name: 'Remove the filter Company is' }).click()
    await page.getByRole('button', { name: 'Columns' }).click()
    await page.getByRole('checkbox', { name: 'Born' }).check()
    await page.keyboard.press('Escape')
    await page.getByRole('columnheader', { name: 'Born' }).waitFor()
    await page.getByRole('button', { name: 'Save or change views' }).click()
    await page.getByLabel('Name of this view').fill('Seniors')
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    const views = page.getByRole('navigation', { name: 'Views' })
    await views.locator('[aria-current]', { hasText: 'Seniors' }).waitFor()
    // `page.url()` may lag behind the page.
    const view = await page.evaluate<string>('location.href')
    await views.getByRole('link', { name: 'All person' }).click()
    await page.getByText('Level is one of senior, lead').waitFor({ state: 'detached' })
    await views.getByRole('link', { name: 'Seniors' }).click()
    await page.getByText('Level is one of senior, lead').waitFor()
    await page.waitForURL(view)
    await page.getByRole('button', { name: 'More' }).click()
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('link', { name: 'Export these as CSV', exact: true }).click(),
    ])
    const lines = readFileSync(await download.path(), 'utf8')
      .trim()
      .split('\n')
    t.match(lines[0], /^id,version,name,email,age,company,level,active,born/)
    t.ok(lines.slice(1).every((line) => /person 14/i.test(line) && /senior|lead/.test(line)))
    await page.locator('.total', { hasText: new RegExp(`^${lines.length - 1} person$`) }).waitFor()
    await page.locator(`[role=grid][aria-rowcount="${lines.length}"]`).waitFor()
    await page.locator('.row.coming').first().waitFor({ state: 'detached' })
    await page.getByLabel('Search Person', { exact: true }).fill('nobody at all')
    await page.getByText('No match').waitFor()
    await page.getByRole('button', { name: 'Remove all filters' }).click()
    await page.locator('.total').getByText('1,500').waitFor()
    t.strictSame(complaints, [])
  })

  t.test('a table that is as long as it says', async (t) => {
    const { page } = await visitAs(t, browser, app, '#/m/shop.Person')
    const table = page.getByRole('grid')
    await page.getByRole('link', { name: 'Person 1', exact: true }).waitFor()
    await table.evaluate((element) => {
      element.scrollTop = element.scrollHeight
    })
    await page.getByRole('link', { name: 'Person 1500' }).waitFor()
    await table.evaluate((element) => {
      element.scrollTop = 0
    })
    await page.getByRole('link', { name: 'Person 1', exact: true }).waitFor()
    await table.focus()
    await page.keyboard.press('End')
    await page.getByRole('link', { name: 'Person 1500' }).waitFor()
    await page.keyboard.press('ArrowUp')
    await page.keyboard.press('Control+Enter')
    await page.getByRole('heading', { name: 'Person 1499' }).waitFor()
    await page.locator('.history li').first().waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('link', { name: 'Person 1499' }).waitFor()
    t.equal(await page.locator('.row.active a').first().textContent(), 'Person 1499', 'the list is as it was left')
  })

  t.test('a form of every kind of field', async (t) => {
    const { page, complaints } = await visitAs(t, browser, app, '#/m/shop.Person')
    await page.getByRole('grid').waitFor()
    await page.keyboard.press('n')
    await page.locator('form').first().waitFor()
    await page.getByRole('heading', { name: /^New/ }).waitFor()
    await page.getByLabel('E-mail').fill('nobody')
    await page.getByLabel('Age').fill('many')
    await page.keyboard.press('Control+s')
    await page.getByText('some of it cannot be read').waitFor()
    await page.getByLabel('Age').fill('200')
    await page.keyboard.press('Control+s')
    await page.getByText('3 fields are not right').waitFor()
    t.equal(await page.getByLabel('Age').getAttribute('aria-invalid'), 'true')
    await page.getByRole('alert').getByRole('link', { name: 'Age' }).click()
    t.ok(await page.getByLabel('Age').evaluate((input) => input.matches(':focus')))
    await page.getByLabel('Age').fill('36')
    await page.getByLabel('Name', { exact: true }).fill('Ada <b>King</b>')
    await page.getByLabel('E-mail').fill('ada@example.org')
    await page.getByLabel('Born').fill('1985-12-10')
    await page.getByLabel('Last seen').fill('2026-07-01T12:30')
    await page.getByLabel('Active').selectOption({ label: 'no' })
    await page.getByLabel('Salary').fill('1234567890123456789.01')
    await page.getByLabel('Level').selectOption({ label: 'lead' })
    const company = page.getByRole('combobox', { name: 'Company' })
    await company.click()
    await page.getByRole('option', { name: 'Company 20' }).waitFor()
    await company.fill('any 2')
    await page.getByRole('option', { name: 'Company 12' }).waitFor()
    await page.keyboard.press('Tab')
    await page.getByText('Nothing is chosen').waitFor()
    t.equal(await company.inputValue(), 'any 2', 'what was typed stays')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('names no record: choose one from the list').first().waitFor()
    await company.click()
    await page.getByRole('option', { name: 'Company 12' }).waitFor()
    await company.fill('company 17')
    await page.getByRole('option', { name: 'Company 17' }).waitFor()
    await page.keyboard.press('Tab')
    await page.getByText('Nothing is chosen').waitFor({ state: 'detached' })
    // An only match is taken.
    await inputHas(company, 'Company 17')
    await company.fill('company 1')
    await page.getByRole('option', { name: 'Company 11' }).waitFor()
    await page.keyboard.press('Escape')
    // Esc brings back what was chosen.
    await inputHas(company, 'Company 17')
    await company.fill('company 1')
    await page.getByRole('option', { name: 'Company 11' }).waitFor()
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('Enter')
    const tags = page.getByRole('group', { name: 'Tags' })
    await tags.getByRole('button', { name: '+ Add' }).click()
    await tags.getByLabel('Tags, 1').fill('first')
    await tags.getByRole('button', { name: '+ Add' }).click()
    await tags.getByLabel('Tags, 2').fill('second, and more')
    await page.getByRole('checkbox', { name: 'tue' }).check()
    await page.getByLabel('Street').fill('Baker Street')
    await page.getByLabel('Extra').fill('{"a": [1, {"b": null}]}')
    await page.getByLabel('Pin').fill('1234')
    await page.getByLabel('Notes').fill('two\nlines')
    await page.keyboard.press('Control+s')
    await page.getByRole('heading', { name: 'Ada <b>King</b>' }).waitFor()
    const { data } = (await admin.get('/ws/rest/shop.Person?sort=-id&limit=1')).body
    const saved = (await admin.get(`/ws/rest/shop.Person/${data[0].id}`)).body.data[0]
    t.match(saved, {
      name: 'Ada <b>King</b>',
      email: 'ada@example.org',
      age: 36,
      born: '1985-12-10',
      seen: '2026-07-01T10:30:00.000Z',
      active: false,
      salary: '1234567890123456789.01',
      level: 'lead',
      company: 10,
      tags: ['first', 'second, and more'],
      days: ['tue'],
      address: { street: 'Baker Street' },
      extra: { a: [1, { b: null }] },
      notes: 'two\nlines',
    })
    t.strictSame(
      complaints.filter((one) => !one.includes('422')),
      [],
    )
    await page.keyboard.press('e')
    await page.getByLabel('Notes').fill('')
    // Not the note that it is saved: the one of the first time may still be there.
    const answered = page.waitForResponse(
      (response) => response.request().method() === 'POST' && response.url().endsWith(`shop.Person/${saved.id}`),
    )
    await page.keyboard.press('Control+s')
    await answered
    await page.getByText('is saved').first().waitFor()
    t.match((await admin.get(`/ws/rest/shop.Person/${saved.id}`)).body.data[0], {
      notes: null,
      seen: saved.seen,
      version: 1,
    })
    await admin.delete(`/ws/rest/shop.Person/${saved.id}`)
  })

  t.test('several at once, and back again', async (t) => {
    const { page } = await visitAs(t, browser, app, '#/m/shop.Person?sort=-id')
    const pick = (name: string) => page.getByRole('checkbox', { name: `Select ${name}`, exact: true })
    await pick('Person 1500').click()
    await pick('Person 1497').click({ modifiers: ['Shift'] })
    await page.getByText('4 records selected').waitFor()
    await admin.post('/ws/rest/shop.Person/1498', { version: 0, notes: 'mine' })
    await page.getByRole('button', { name: 'Edit…' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Which field?').selectOption({ label: 'Level' })
    await dialog.getByLabel('Level', { exact: true }).selectOption({ label: 'lead' })
    t.equal(await dialog.locator('.preview li').count(), 4)
    await dialog.getByRole('button', { name: 'Change 4 records' }).click()
    await dialog.getByText('3 records done, 1 not; they stay selected.').waitFor()
    await dialog.getByText('somebody else has changed it meanwhile').waitFor()
    const levels = async () =>
      (await admin.get('/ws/rest/shop.Person?id[gte]=1497&fields=level')).body.data.map(
        (row: { level: string }) => row.level,
      )
    t.strictSame(await levels(), ['lead', 'junior', 'lead', 'lead'])
    await dialog.getByRole('button', { name: 'Undo' }).click()
    await dialog.getByText('3 records brought back').waitFor()
    t.strictSame(
      await levels(),
      ['lead', 'junior', 'senior', 'lead'].map((_, at) => ['junior', 'senior', 'lead'][(1496 + at) % 3]),
    )
    await dialog.getByRole('button', { name: 'Close' }).last().click()
    await page.getByText('1 record selected').waitFor()
    await page.getByRole('button', { name: 'Edit…' }).click()
    await dialog.getByLabel('Which field?').selectOption({ label: 'Level' })
    await dialog.getByRole('button', { name: 'Leave Level as it is' }).click()
    await dialog.getByLabel('Which field?').selectOption({ label: 'Notes' })
    await dialog.getByText('Notes: nothing is said yet').waitFor()
    t.ok(await dialog.getByRole('button', { name: 'Change 1 record' }).isDisabled(), 'nothing is cleared unasked')
    await dialog.getByLabel('Clear Notes in all of them').check()
    await dialog.getByRole('button', { name: 'Change 1 record' }).click()
    await dialog.getByText('1 record done').waitFor()
    t.match(
      (await admin.get('/ws/rest/shop.Person/1498')).body.data[0],
      { notes: null, version: 2 },
      'as it is by now, cleared',
    )
    await dialog.getByRole('button', { name: 'Close' }).last().click()
  })

  t.test('import', async (t) => {
    const { page, complaints } = await visitAs(t, browser, app, '#/m/shop.Company/import')
    const choose = (text: string) =>
      page
        .locator('input[type=file]')
        .setInputFiles({ name: 'companies.csv', mimeType: 'text/csv', buffer: Buffer.from(text) })
    await choose('Company;Fax;Town\nNew one;1;Paris\n;2;Rome\n')
    await page.getByLabel('Field for the column Company').selectOption({ label: 'Name' })
    await page.getByRole('button', { name: 'Check it' }).click()
    await page.getByText('Line 3').waitFor()
    t.ok(await page.getByRole('button', { name: 'Import it' }).isDisabled())
    await choose('Name;Fax;Town\nNew one;1;Paris\nNew two;2;Rome\n')
    await page.getByRole('button', { name: 'Check it' }).click()
    await page.getByText('2 records would be added').waitFor()
    t.equal((await admin.get('/ws/rest/shop.Company?name[like]=New')).body.total, 0, 'nothing yet')
    await page.getByRole('button', { name: 'Import it' }).click()
    await page.getByText('Done. 2 records added').waitFor()
    t.match((await admin.get('/ws/rest/shop.Company?name[like]=New&fields=name,town')).body.data, [
      { name: 'New one', town: 'Paris' },
      { name: 'New two', town: 'Rome' },
    ])
    t.strictSame(
      complaints.filter((one) => !one.includes('422')),
      [],
    )
  })

  t.test('deleted records come back', async (t) => {
    const { page, complaints } = await visitAs(t, browser, app, '#/m/shop.Company/deleted')
    await page.getByRole('row', { name: /Gone/ }).getByRole('button', { name: 'Bring back' }).click()
    await page.getByText('Gone is back').waitFor()
    await page.getByRole('button', { name: 'Show it' }).click()
    await page.getByRole('heading', { name: 'Gone' }).waitFor()
    await page.getByRole('button', { name: 'Delete' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
    await page.getByText('Gone is deleted').waitFor()
    await page.getByRole('button', { name: 'Undo' }).click()
    await page.getByRole('heading', { name: 'Gone' }).waitFor()
    t.strictSame(complaints, [])
  })

  t.test('people, and oneself', async (t) => {
    const { page } = await visitAs(t, browser, app, '#/people')
    await page.getByRole('button', { name: 'Add somebody' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Username').fill('tom')
    await dialog.getByLabel('Password').fill('correct-horse-battery')
    await dialog.getByRole('checkbox', { name: /^sales/ }).check()
    await dialog.getByLabel('A new role').fill('support')
    await page.keyboard.press('Enter')
    await dialog.getByRole('checkbox', { name: /^support new/ }).waitFor()
    await dialog.getByRole('button', { name: 'Add', exact: true }).click()
    await page.getByRole('row', { name: /tom sales, support/ }).waitFor()
    await page.getByRole('button', { name: 'tom' }).click()
    await dialog.getByLabel('Attributes').fill('north')
    await dialog.getByRole('button', { name: 'Set the attributes' }).click()
    await dialog.getByText('Each is a name and its value').waitFor()
    await dialog.getByLabel('Attributes').fill('regions=north,south; limit=5')
    await dialog.getByRole('button', { name: 'See what tom sees' }).click()
    await dialog.getByLabel('What tom sees of').selectOption('shop.Company')
    await dialog.getByRole('columnheader', { name: 'name' }).waitFor()
    await dialog.getByRole('button', { name: 'Set the attributes' }).click()
    await page.getByRole('row', { name: /tom sales, support regions=north,south; limit=5/ }).waitFor()
    await page.getByRole('button', { name: 'admin' }).last().click()
    await dialog.getByRole('button', { name: 'Disable' }).click()
    await page.getByText('make somebody else an admin first').waitFor()
    await dialog.getByRole('button', { name: 'Close' }).click()
    const tom = await visitAs(t, browser, app, '#/me', { username: 'tom' })
    await tom.page.getByLabel('Name of a new token').fill('nightly')
    await tom.page.getByLabel('It may only read').check()
    await tom.page.getByRole('button', { name: 'Make a token' }).click()
    const token = await tom.page.locator('.others pre').textContent()
    const answer = await app.stranger.send('GET', '/ws/me', undefined, { authorization: `Bearer ${token}` })
    t.match(answer.body.data, [{ username: 'tom' }])
    await tom.page.getByLabel('Now').fill('correct-horse-battery')
    await tom.page.getByLabel('New', { exact: true }).fill('another-horse-battery')
    await tom.page.getByRole('button', { name: 'Change the password' }).click()
    await tom.page.getByText('Your password is changed').waitFor()
    t.equal(await tom.page.getByRole('link', { name: 'Users' }).count(), 0)
    await tom.page.goto(`${app.url}/#/people`)
    await tom.page.getByRole('heading', { name: 'There is nothing at this address' }).first().waitFor()
    await page.getByRole('button', { name: 'tom' }).click()
    await dialog.getByRole('button', { name: 'Remove' }).click()
    await dialog.getByRole('button', { name: 'Remove' }).click()
    await page.getByText('tom is removed').waitFor()
  })

  t.test('by the keyboard alone', async (t) => {
    const { page, complaints } = await visit(t, browser, app)
    const type = (text: string) => page.keyboard.type(text)
    const press = (...keys: string[]) =>
      keys.reduce((before, key) => before.then(() => page.keyboard.press(key)), Promise.resolve())
    await page.getByLabel('Username').waitFor()
    await type('admin')
    await press('Tab')
    await type('correct-horse-battery')
    await press('Enter')
    await page.locator('.card').first().waitFor()
    await press('Control+k')
    await type('person 77')
    await page.getByRole('option', { name: /^Person 77 ?Person · #77$/ }).waitFor()
    await page.getByRole('option', { name: /^more… ?all \d+ Person records$/ }).waitFor()
    await press('Enter')
    await page.getByRole('heading', { name: 'Person 77' }).waitFor()
    await press('?')
    await page.getByRole('dialog', { name: 'Keys' }).getByText('edit', { exact: true }).waitFor()
    await press('Escape', 'e')
    await page.getByLabel('Name', { exact: true }).focus()
    await press('End')
    await type(' II')
    await press('Control+s')
    await page.getByRole('heading', { name: 'Person 77 II' }).waitFor()
    await press('Escape')
    await page.getByRole('link', { name: 'Person 3', exact: true }).waitFor()
    await press('ArrowDown', 'ArrowDown', 'Space')
    await page.getByText('1 record selected').waitFor()
    await press('Control+Enter')
    await page.getByRole('heading', { name: 'Person 3' }).waitFor()
    t.strictSame(complaints, [])
  })

  t.test('state and API', async (t) => {
    const { page, complaints } = await visitAs(t, browser, app, '#/state')
    await page.getByText('shop.Company', { exact: true }).first().click()
    await page
      .getByRole('region', { name: 'Who may do what with shop.Company' })
      .getByRole('cell', { name: 'admin' })
      .waitFor()
    await page.getByText('What is served is what the folder says').waitFor()
    await page.getByRole('img', { name: /^Records: now 1/ }).waitFor()
    await page.getByText('shop.Person nothing to do').waitFor()
    await page.goto(`${app.url}/#/api`)
    await page.getByLabel('Search the reference').fill('create person')
    await page.getByText('PUT /ws/rest/shop.Person').click()
    await page.getByText('"name":"text"').waitFor()
    await page.goto(`${app.url}/#/m/shop.Person?age[gte]=30`)
    await page.getByRole('button', { name: 'More' }).click()
    await page.getByRole('button', { name: 'For programs: the same with curl' }).click()
    await page.getByText(`'${app.url}/ws/rest/shop.Person?age[gte]=30'`).waitFor()
    t.strictSame(complaints, [])
  })

  t.test('who may do little sees little', async (t) => {
    const { page, complaints } = await visitAs(t, browser, app, '', { username: 'sue' })
    await page.locator('.card').first().waitFor()
    await page.getByRole('button', { name: 'sue' }).click()
    t.equal(await page.getByRole('link', { name: 'System' }).count(), 0)
    t.strictSame(complaints, [])
  })
}
