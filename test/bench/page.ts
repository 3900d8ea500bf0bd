import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { launchBrowser } from '../browser.ts'
import { table } from './report.ts'
import { type BenchServer, startDossier, stop, useCores } from './servers.ts'

const RECORDS = 1_000_000
const VISITS = 5
const JUMPS = 20

/** The page over a million records: how soon it can be used, how smoothly it scrolls, how soon rows are there. */
export async function visitPage(folder: string): Promise<void> {
  const browser = await launchBrowser()
  if (!browser) {
    console.log('\nThere is no Chromium to measure the page with.')
    return
  }
  useCores('0,1')
  const server = await startDossier(join(folder, 'page'), RECORDS, undefined, { ALL_CORES: 'true' })
  try {
    const visits: number[] = []
    for (let visit = 0; visit < VISITS; visit++) {
      const page = await opened(server)
      await page.goto(`${server.url}/#/m/contacts.Contact`)
      await page.locator('.rows a').first().waitFor()
      visits.push(Number(await page.evaluate('performance.now()')))
      await page.context().close()
    }
    const page = await opened(server)
    await page.goto(`${server.url}/#/m/contacts.Contact`)
    await page.locator('.rows a').first().waitFor()
    const rows = [
      ['usable after ms, first visit', median(visits), 400],
      ['a frame while the wheel turns, p95 ms', await frames(page, 'table.scrollTop += 60'), 25],
      [
        'a frame while the bar is dragged, p95 ms',
        await frames(page, 'table.scrollTop += table.scrollHeight / 300'),
        25,
      ],
      ['rows there after a jump, slowest ms', await jumps(page), 150],
    ]
    table(
      `The page over ${RECORDS} records, two cores`,
      ['', 'measured', 'goal'],
      rows.map(([what, measured, goal]) => [String(what), Number(measured).toFixed(0), String(goal)]),
    )
  } finally {
    await browser.close()
    await stop(server)
  }

  async function opened({ url, cookie }: BenchServer): Promise<Page> {
    const context = await browser?.newContext({ viewport: { width: 1280, height: 800 } })
    if (!context) throw new Error('There is no browser.')
    const [, value = ''] = cookie.split('sid=')
    await context.addCookies([{ name: 'sid', value: value.split(';')[0] as string, url }])
    return context.newPage()
  }
}

const median = (numbers: number[]) => numbers.sort((a, b) => a - b)[Math.floor(numbers.length / 2)] as number

/** The time between frames, while each of 200 of them moves the table. */
async function frames(page: Page, move: string): Promise<number> {
  const times = (await page.evaluate(`new Promise((resolve) => {
    const table = document.querySelector('.table')
    table.scrollTop = 0
    const times = []
    let last = performance.now()
    const frame = () => {
      const now = performance.now()
      times.push(now - last)
      last = now
      ${move}
      if (times.length < 200) requestAnimationFrame(frame)
      else resolve(times)
    }
    requestAnimationFrame(frame)
  })`)) as number[]
  return times.sort((a, b) => a - b)[Math.floor(times.length * 0.95)] as number
}

/** How long it takes until every row on the screen is there, wherever the bar is put. */
async function jumps(page: Page): Promise<number> {
  const times = (await page.evaluate(`(async () => {
    const table = document.querySelector('.table')
    const times = []
    for (let jump = 0; jump < ${JUMPS}; jump++) {
      table.scrollTop = (table.scrollHeight * ((jump * 7919) % 1000)) / 1000
      const start = performance.now()
      await new Promise((resolve) => {
        const look = () => {
          const rows = [...document.querySelectorAll('.rows .row')]
          if (rows.length > 10 && rows.every((row) => !row.classList.contains('coming')) && performance.now() > start + 5) resolve()
          else requestAnimationFrame(look)
        }
        requestAnimationFrame(look)
      })
      times.push(performance.now() - start)
      await new Promise((resolve) => setTimeout(resolve, 300))
    }
    return times
  })()`)) as number[]
  return Math.max(...times)
}
