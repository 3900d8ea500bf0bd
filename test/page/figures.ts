import type { Page } from 'playwright-core'
import { startDemo, visitDemo } from './demo.ts'

/**
 * Measures the page with the demo's records and 50,000 people: `npm run figures`. Nothing depends on the outcome: it is
 * only printed.
 */

const PEOPLE = 50_000
const GIVEN = ['Ada', 'Bob', 'Chloé', 'Dmitri', 'Émile', 'Fatma', 'Gürkan', 'Hana', 'Ivo', 'Jörg']
const FAMILY = ['Adams', 'Berg', 'Costa', 'Dubois', 'Eriksson', 'Fischer', 'García', 'Horváth', 'Ito', 'Jansen']

const demo = await startDemo()
const tell = (what: string, value: string) => console.log(`${what.padEnd(45)} ${value}`)

/** Imports people until there are as many as were wanted. */
async function addPeople(): Promise<void> {
  const body = JSON.stringify({ username: 'admin', password: demo.passwords.admin })
  const headers = { 'content-type': 'application/json' }
  const answer = await fetch(`${demo.url}/login.jsp`, { method: 'POST', headers, body })
  const cookie = answer.headers
    .getSetCookie()
    .map((one) => one.split(';')[0])
    .join('; ')
  const overview = await fetch(`${demo.url}/ws/meta/overview`, { headers: { cookie } })
  const { data } = (await overview.json()) as { data: { model: string; total: number }[] }
  const there = data.find(({ model }) => model === 'crm.Person')?.total as number
  const rows = Array.from({ length: PEOPLE - there }, (_, nth) => {
    const name = `${GIVEN[nth % 10]} ${FAMILY[Math.floor(nth / 10) % 10]} ${nth}`
    return `${name},many${nth}@example.org,Town ${nth % 500}`
  })
  const file = `name,email,city\n${rows.join('\n')}\n`
  const done = await fetch(`${demo.url}/ws/rest/crm.Person/import`, {
    method: 'POST',
    headers: { cookie, 'content-type': 'text/csv' },
    body: file,
  })
  if (!done.ok) throw new Error(await done.text())
  tell('people', String(PEOPLE))
}
await addPeople()

/** When something is there, in milliseconds since 1970. The page itself looks: Playwright does less and less often. */
const seen = (on: Page, found: string) =>
  on.evaluate<number>(`new Promise((resolve) => {
    const look = () => (${found} ? resolve(Date.now()) : setTimeout(look, 5))
    look()
  })`)
/** Milliseconds from an event in a page until something is there. */
async function timed(from: Page, event: string, on: Page, found: string, act: () => Promise<unknown>): Promise<number> {
  await from.evaluate(
    `addEventListener('${event}', () => { globalThis.begun = Date.now() }, { once: true, capture: true })`,
  )
  const end = seen(on, found)
  await act()
  return (await end) - (await from.evaluate<number>('globalThis.begun'))
}

const TABLE = '#/m/crm.Person'
const firstRow = (page: Page) => page.locator('.rows a.opens').first().waitFor()

const median = (times: number[]) => times.toSorted((a, b) => a - b)[Math.floor(times.length / 2)]

// A first visit.
const context = await demo.browser.newContext({ viewport: { width: 1280, height: 760 } })
const page = await context.newPage()
let bytes = 0
let requests = 0
const session = await context.newCDPSession(page)
await session.send('Network.enable')
session.on('Network.loadingFinished', ({ encodedDataLength }) => {
  bytes += encodedDataLength
  requests++
})
async function logIn(visitor: Page): Promise<number> {
  await visitor.goto(`${demo.url}/${TABLE}`)
  await visitor.getByLabel('Username').fill('admin')
  await visitor.getByLabel('Password').fill(demo.passwords.admin as string)
  const found = `document.querySelector('.rows a.opens')`
  return timed(visitor, 'submit', visitor, found, () => visitor.getByRole('button', { name: 'Log in' }).click())
}
const logins = [await logIn(page)]
tell('first visit until the table is usable', `${Math.round(bytes / 1000)} KB, ${requests} requests`)
for (let more = 0; more < 4; more++) {
  const another = await demo.browser.newContext({ viewport: { width: 1280, height: 760 } })
  logins.push(await logIn(await another.newPage()))
  await another.close()
}
tell('log in to usable table', `${median(logins)} ms`)

// Blank rows while scrolling fast.
const blank = await page.evaluate<number>(`(async () => {
  const table = document.querySelector('.table')
  let empty = 0
  for (let step = 0; step < 120; step++) {
    table.scrollTop += 400
    await new Promise(requestAnimationFrame)
    if (table.querySelector('.row.coming')) empty++
  }
  return empty / 1.2
})()`)
tell('frames with blank rows in fast scrolling', `${blank.toFixed(1)} %`)

// A change by somebody else.
const other = await visitDemo(demo, '#/m/crm.Company', { username: 'hanna' })
await firstRow(other)
await page.goto(`${demo.url}/#/m/crm.Company`)
await firstRow(page)
const shows: number[] = []
for (let round = 0; round < 5; round++) {
  const name = `Changed ${round}`
  await other.locator('#cell-0-2').dblclick()
  await other.locator('.cell.editing input').fill(name)
  const found = `document.querySelector('.rows')?.textContent.includes('${name}')`
  shows.push(await timed(other, 'keydown', page, found, () => other.keyboard.press('Enter')))
}
tell('a change by somebody else shows after', `${median(shows)} ms`)

// Search as you type.
await page.goto(`${demo.url}/${TABLE}`)
await firstRow(page)
const searches: number[] = []
for (const word of ['strauss', 'fischer', 'horvath', 'jansen', 'müller']) {
  await page.getByLabel('Search People').fill('')
  await page.locator('mark').first().waitFor({ state: 'detached' })
  await page.getByLabel('Search People').focus()
  const found = `document.querySelector('mark')`
  searches.push(await timed(page, 'input', page, found, () => page.keyboard.insertText(word)))
}
tell('search as you type, with the pause', `${median(searches)} ms`)

// The heap after many navigations.
const heap = async () => {
  await session.send('HeapProfiler.collectGarbage')
  const { usedSize } = await session.send('Runtime.getHeapUsage')
  return usedSize / 1e6
}
const wander = async (rounds: number) => {
  for (let round = 0; round < rounds; round++) {
    await page.evaluate(`location.hash = '#/m/crm.Company/${1 + (round % 50)}'`)
    await page.locator('.history li').first().waitFor()
    await page.evaluate(`location.hash = '#/m/crm.Company'`)
    await firstRow(page)
  }
}
await wander(20)
const before = await heap()
await wander(200)
tell('heap before and after 400 navigations', `${before.toFixed(1)} MB, ${(await heap()).toFixed(1)} MB`)
await demo.stop()
