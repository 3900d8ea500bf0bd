import { join } from 'node:path'
import { startDemo, visitDemo } from './demo.ts'

/** Makes the pictures of the docs from the demo: `npm run pictures`. */

const at = (name: string) => ({ path: join(import.meta.dirname, `${name}.png`) })

const demo = await startDemo()
const page = await visitDemo(demo, '#/m/crm.Person?level[in]=lead,customer&sort=-revenue')
await page.locator('.rows a.opens').first().waitFor()
await page.waitForTimeout(500)
await page.screenshot(at('records'))

await page.goto(`${demo.url}/#/m/shop.Order?table.board=status&fields=number,customer,orderedOn`)
await page.locator('.board li a').first().waitFor()
await page.waitForTimeout(500)
await page.screenshot(at('board'))

// Two people change the same field.
await page.goto(`${demo.url}/#/m/shop.Order/600/edit`)
await page.getByLabel('Notes').fill('Deliver on Friday, by the back door.')
const other = await visitDemo(demo, '#/m/shop.Order/600/edit', { username: 'hanna' })
await other.getByLabel('Notes').fill('Deliver on Monday.')
await other.getByRole('button', { name: 'Save' }).click()
await other.getByRole('heading', { name: 'O-1600' }).waitFor()
await page.getByRole('button', { name: 'Save' }).click()
await page.getByRole('dialog', { name: 'Somebody was faster' }).waitFor()
await page.waitForTimeout(300)
await page.screenshot(at('conflict'))
await demo.stop()
