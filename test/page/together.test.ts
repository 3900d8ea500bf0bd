import t from 'tap'
import { startBrowser } from '../browser.ts'
import type { Client } from '../client.ts'
import { startApp, writeModel } from '../helper.ts'
import { MODELS, PERSON } from './models.ts'
import { logIn, until, visit, visitAs } from './visitor.ts'

/** Two people in two windows, and what happens between them. */

const browser = await startBrowser(t)
if (browser) {
  const app = await startApp(t, { models: MODELS, env: { LOGIN_ATTEMPTS: '3' } })
  const admin = await app.login()
  await admin.put('/ws/users', { username: 'bob', password: 'correct-horse-battery', roles: ['admin'] })
  const bob = await app.login('bob')
  const path = '/ws/rest/shop.Person'
  const person = async (data: object): Promise<{ id: number; version: number }> =>
    (await admin.put(path, data)).body.data[0]
  const update = (by: Client, id: number, version: number, data: object) =>
    by.post(`${path}/${id}`, { version, ...data })
  const read = async (id: number) => (await admin.get(`${path}/${id}`)).body.data[0]

  t.test('what others do appears as it happens', async (t) => {
    const { id } = await person({ name: 'Ada', email: 'ada@example.org' })
    const list = await visitAs(t, browser, app, '#/m/shop.Person')
    const { page, complaints } = await visitAs(t, browser, app, `#/m/shop.Person/${id}`)
    await page.getByRole('heading', { name: 'Ada' }).waitFor()
    await list.page.getByRole('link', { name: 'Ada', exact: true }).waitFor()
    await update(bob, id, 0, { name: 'Ada King' })
    await page.getByRole('heading', { name: 'Ada King' }).waitFor()
    await page.getByText('Changed by bob').waitFor()
    await list.page.getByRole('link', { name: 'Ada King' }).waitFor()
    await page.getByText('bob changed').waitFor()
    await page.getByRole('button', { name: 'Bring back version 0' }).click()
    await page.getByRole('button', { name: 'Bring it back' }).click()
    await page.getByRole('heading', { name: 'Ada', exact: true }).waitFor()
    t.match(await read(id), { name: 'Ada', version: 2 })
    await bob.delete(`${path}/${id}`)
    await page.getByRole('heading', { name: 'Deleted' }).waitFor()
    await page.getByText('bob deleted it at').waitFor()
    await page.getByRole('button', { name: 'Bring it back' }).click()
    await page.getByRole('heading', { name: 'Ada', exact: true }).waitFor()
    t.match(await read(id), { name: 'Ada' })
    // The browser itself writes down that a record was not there.
    t.strictSame(
      complaints.filter((one) => !one.includes('404')),
      [],
    )
    t.strictSame(list.complaints, [])
  })

  t.test('changes of different fields are merged, and it says so', async (t) => {
    const { id } = await person({ name: 'Grace', age: 30 })
    const { page, complaints } = await visitAs(t, browser, app, `#/m/shop.Person/${id}/edit`)
    await page.getByLabel('Name', { exact: true }).fill('Grace Hopper')
    await update(bob, id, 0, { age: 31 })
    await page.getByText('bob has set this to: 31').waitFor()
    await page.keyboard.press('Control+s')
    await page.getByText('What others had changed was kept: Age').waitFor()
    t.match(await read(id), { name: 'Grace Hopper', age: 31, version: 2 })
    t.strictSame(complaints, [])
  })

  t.test('where both have changed the same, one decides field by field', async (t) => {
    const { id } = await person({ name: 'Alan', notes: 'A text of some words', level: 'junior' })
    const { page } = await visitAs(t, browser, app, `#/m/shop.Person/${id}/edit`)
    await page.getByLabel('Notes').fill('A text of many words')
    await page.getByLabel('Level').selectOption({ label: 'lead' })
    await page.getByLabel('Pin').fill('1234')
    await update(bob, id, 0, { notes: 'A text of some letters', level: 'senior', age: 40 })
    await page.getByText('bob has set this to: senior').waitFor()
    await page.getByRole('button', { name: 'Save' }).click()
    const dialog = page.getByRole('dialog', { name: 'Somebody was faster' })
    await dialog.getByText('bob has changed fields that you have changed as well').waitFor()
    const save = dialog.getByRole('button', { name: 'Save what I chose' })
    t.ok(await save.isDisabled(), 'nothing is chosen beforehand')
    t.equal(await dialog.locator('input:checked').count(), 0)
    t.strictSame(await dialog.locator('ins').allTextContents(), ['senior', 'lead', 'letters', 'many'])
    t.strictSame(await dialog.locator('del').allTextContents(), ['junior', 'junior', 'words', 'some'])
    await dialog.getByRole('group', { name: 'Notes' }).getByLabel('Mine').check()
    t.ok(await save.isDisabled())
    await dialog.getByRole('group', { name: 'Level' }).getByLabel('Theirs').check()
    await save.click()
    await page.getByText('is saved').waitFor()
    t.match(await read(id), { notes: 'A text of many words', level: 'senior', age: 40, version: 2 })
  })

  t.test('whoever is faster while one decides is not overruled either', async (t) => {
    const { id } = await person({ name: 'n0', notes: 'p0' })
    const { page } = await visitAs(t, browser, app, `#/m/shop.Person/${id}/edit`)
    await page.getByLabel('Name', { exact: true }).fill('mine')
    await page.getByLabel('Notes').fill('my notes')
    await update(bob, id, 0, { name: 'bob 1' })
    await page.getByText('bob has set this to: bob 1').waitFor()
    await page.getByRole('button', { name: 'Save' }).click()
    const dialog = page.getByRole('dialog', { name: 'Somebody was faster' })
    await dialog.getByLabel('Mine').waitFor()
    await update(bob, id, 1, { name: 'bob 2', notes: 'bob notes' })
    await dialog.getByLabel('Mine').check()
    await dialog.getByRole('button', { name: 'Save what I chose' }).click()
    await dialog.getByText('bob notes').waitFor()
    await dialog.getByRole('group', { name: 'Name' }).getByLabel('Theirs').check()
    await dialog.getByRole('group', { name: 'Notes' }).getByLabel('Theirs').check()
    await dialog.getByRole('button', { name: 'Save what I chose' }).click()
    await page.getByText('Theirs is kept').waitFor()
    t.match(await read(id), { name: 'bob 2', notes: 'bob notes', version: 2 })
  })

  t.test('what is left to them stays left to them; secrets clash as well', async (t) => {
    const { id } = await person({ name: 'n0', pin: '0' })
    const { page } = await visitAs(t, browser, app, `#/m/shop.Person/${id}/edit`)
    await page.getByLabel('Name', { exact: true }).fill('mine')
    await page.getByLabel('Pin').fill('1111')
    await update(bob, id, 0, { name: 'theirs', pin: '2222' })
    await page.getByText('bob has set this to: theirs').waitFor()
    await page.getByRole('button', { name: 'Save' }).click()
    const dialog = page.getByRole('dialog', { name: 'Somebody was faster' })
    await dialog.getByRole('group', { name: 'Name' }).getByLabel('Theirs').check()
    await dialog.getByRole('group', { name: 'Pin' }).getByLabel('Mine').check()
    await page.context().setOffline(true)
    await dialog.getByRole('button', { name: 'Save what I chose' }).click()
    await page.getByRole('alert').getByText('cannot be reached').waitFor()
    await page.context().setOffline(false)
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('is saved').waitFor()
    t.match(await read(id), { name: 'theirs', version: 2 })
  })

  t.test('a field that gets another name while it is written', async (t) => {
    const { id } = await person({ name: 'Old', notes: 'what was there' })
    const { page } = await visitAs(t, browser, app, `#/m/shop.Person/${id}/edit`)
    await page.getByLabel('Age').fill('5')
    const { notes, ...properties } = PERSON.properties
    const renamed = { ...properties, remarks: { ...notes, title: 'Remarks', renamedFrom: 'notes' } }
    writeModel(app.folder, 'shop.Person.json', { ...PERSON, properties: renamed })
    await app.service.reload()
    const remarks = page.getByLabel('Remarks')
    await remarks.waitFor()
    await until(async () => (await remarks.inputValue()) === 'what was there')
    t.equal(await page.getByLabel('Age').inputValue(), '5')
    writeModel(app.folder, 'shop.Person.json', {
      ...PERSON,
      properties: { ...properties, notes: { ...notes, renamedFrom: 'remarks' } },
    })
    await app.service.reload()
    writeModel(app.folder, 'shop.Person.json', PERSON)
    await app.service.reload()
  })

  t.test('two windows of one browser are of one person', async (t) => {
    const first = await visit(t, browser, app, '#/me')
    // Not by a session of others: this one ends.
    await logIn(first.page)
    await first.page.getByRole('heading', { name: 'admin' }).waitFor()
    const second = await first.page.context().newPage()
    await second.goto(`${app.url}/#/me`)
    await second.getByRole('button', { name: 'admin' }).click()
    await second.getByRole('button', { name: 'Log out' }).click()
    await second.getByLabel('Username').waitFor()
    await first.page.getByLabel('Username').waitFor()
    await logIn(second, 'bob')
    await second.getByRole('heading', { name: 'bob' }).waitFor()
    await first.page.getByRole('heading', { name: 'bob' }).waitFor()
    t.equal(await first.page.getByRole('heading', { name: 'admin' }).count(), 0)
  })

  t.test('a record that is deleted meanwhile can be created anew with what was typed', async (t) => {
    const { id } = await person({ name: 'Edsger', age: 50 })
    const { page } = await visitAs(t, browser, app, `#/m/shop.Person/${id}/edit`)
    await page.getByLabel('Name', { exact: true }).fill('Edsger Dijkstra')
    await bob.delete(`${path}/${id}`)
    await page.getByText('was deleted while you were writing').waitFor()
    await page.getByRole('button', { name: 'Create it anew' }).click()
    await page.getByRole('heading', { name: 'New Person' }).waitFor()
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('is saved').waitFor()
    const { data } = (await admin.get(`${path}?name=Edsger%20Dijkstra&fields=name,age`)).body
    t.match(data, [{ name: 'Edsger Dijkstra', age: 50 }])
    t.not(data[0].id, id)
  })

  t.test('what was typed survives a reload, a lost connection and an ended session', async (t) => {
    const { id } = await person({ name: 'Barbara' })
    const { page } = await visitAs(t, browser, app, `#/m/shop.Person/${id}/edit`)
    await page.getByLabel('Name', { exact: true }).fill('Barbara Liskov')
    await page.reload()
    await page.getByText('Not saved yet').waitFor()
    t.equal(await page.getByLabel('Name', { exact: true }).inputValue(), 'Barbara Liskov')
    await page.context().setOffline(true)
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('alert').getByText('cannot be reached').waitFor()
    await page.context().setOffline(false)
    await page.context().clearCookies()
    await page.getByRole('button', { name: 'Save' }).click()
    const dialog = page.getByRole('dialog', { name: 'Your session has ended' })
    await dialog.waitFor()
    t.equal(await page.getByLabel('Name', { exact: true }).inputValue(), 'Barbara Liskov', 'it stands behind')
    await dialog.getByLabel('Password').fill('correct-horse-battery')
    await dialog.getByRole('button', { name: 'Log in' }).click()
    await page.getByText('is saved').waitFor()
    t.match(await read(id), { name: 'Barbara Liskov', version: 1 })
  })

  t.test('somebody else who logs in instead sees nothing of what was typed', async (t) => {
    const { id } = await person({ name: 'Ken' })
    const { page } = await visitAs(t, browser, app, `#/m/shop.Person/${id}/edit`)
    await page.getByLabel('Name', { exact: true }).fill('secret')
    await page.context().clearCookies()
    await page.getByRole('button', { name: 'Save' }).click()
    const dialog = page.getByRole('dialog', { name: 'Your session has ended' })
    await dialog.getByLabel('Username').fill('bob')
    await dialog.getByLabel('Password').fill('correct-horse-battery')
    await Promise.all([page.waitForEvent('load'), dialog.getByRole('button', { name: 'Log in' }).click()])
    await page.getByRole('button', { name: 'bob' }).waitFor()
    t.equal(await page.getByLabel('Name', { exact: true }).inputValue(), 'Ken')
    t.match(await read(id), { name: 'Ken', version: 0 })
  })

  t.test('a model that changes under an open form', async (t) => {
    const { id } = await person({ name: 'Donald', tags: ['one'] })
    const { page } = await visitAs(t, browser, app, `#/m/shop.Person/${id}/edit`)
    await page.getByLabel('Name', { exact: true }).fill('Donald Knuth')
    await page.getByLabel('Salary').fill('12.50')
    const { salary, ...properties } = PERSON.properties
    const changed = { ...PERSON, properties: { ...properties, rank: { type: 'integer', title: 'Rank' } } }
    writeModel(app.folder, 'shop.Person.json', changed)
    await app.service.reload()
    await page.getByLabel('Rank').fill('7')
    await page.getByText('The model has changed').waitFor()
    await page.locator('.left-over').getByText('12.50').waitFor()
    t.equal(await page.getByLabel('Name', { exact: true }).inputValue(), 'Donald Knuth')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('is saved').waitFor()
    t.match(await read(id), { name: 'Donald Knuth', rank: 7, version: 1 })
    writeModel(app.folder, 'shop.Person.json', PERSON)
    await app.service.reload()
  })

  t.test('after too many wrong passwords the page counts down', async (t) => {
    await admin.put('/ws/users', { username: 'eve', password: 'correct-horse-battery', roles: [] })
    const { page } = await visit(t, browser, app, '#/me')
    for (let tries = 0; tries < app.config.LOGIN_ATTEMPTS; tries++) {
      await logIn(page, 'eve', `wrong-password-${tries}`)
      await page.getByText('not right').or(page.getByText('Too many')).waitFor()
    }
    await logIn(page, 'eve')
    await page.getByText(/Try again in \d+:\d\d/).waitFor()
    t.ok(await page.getByRole('button', { name: 'Log in' }).isDisabled())
  })
}
