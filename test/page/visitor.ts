import { setTimeout as sleep } from 'node:timers/promises'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import type { Test } from 'tap'
import { PASSWORD } from '../client.ts'
import type { Running } from '../helper.ts'

/** A page in a browser, and the problems it reported. */
export interface Visitor {
  page: Page
  /** errors and warnings in the console, and requests to other origins */
  complaints: string[]
}

/** How long the page may take for anything. */
const TIMEOUT_MS = Number(process.env.PAGE_TIMEOUT ?? 120_000)

/** How many times slower the browser runs: finds what depends on a quick machine. */
const SLOWDOWN = Number(process.env.PAGE_SLOWDOWN ?? 1)

/**
 * Waits until something holds. Not by waitForFunction: its second look would be an eval, which the page's policy
 * refuses.
 */
export async function until(holds: () => Promise<boolean>): Promise<void> {
  const end = Date.now() + TIMEOUT_MS
  while (!(await holds())) {
    if (Date.now() > end) throw new Error(`This does not hold: ${holds}`)
    await sleep(20)
  }
}

/** A port in an address would look like a status. */
const pathOf = (url: string) => (URL.canParse(url) ? new URL(url).pathname : '')

export const DESKTOP = { width: 1280, height: 800 }
export const PHONE = { width: 360, height: 740 }

interface Visit extends BrowserContextOptions {
  /** a session to begin with, as `Client` keeps it */
  cookie?: string
}

/** Opens a page in a new browser context, which has no cookies but the given one. */
export async function visit(
  t: Test,
  browser: Browser,
  { url }: Running,
  path = '',
  { cookie, ...options }: Visit = {},
): Promise<Visitor> {
  const context = await browser.newContext({
    viewport: DESKTOP,
    timezoneId: 'Europe/Berlin',
    locale: 'en-GB',
    ...options,
  })
  if (cookie !== undefined) {
    const [name = '', value = ''] = cookie.split('=')
    await context.addCookies([{ name, value, url, httpOnly: true, sameSite: 'Lax' }])
  }
  context.setDefaultTimeout(TIMEOUT_MS)
  t.teardown(() => context.close())
  const page = await context.newPage()
  if (SLOWDOWN > 1) await (await context.newCDPSession(page)).send('Emulation.setCPUThrottlingRate', { rate: SLOWDOWN })
  const complaints: string[] = []
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type()))
      complaints.push(`${message.text()} ${pathOf(message.location().url)}`.trim())
  })
  page.on('pageerror', (error) => complaints.push(String(error)))
  page.on('request', (request) => {
    if (!request.url().startsWith(url) && !request.url().startsWith('data:')) complaints.push(request.url())
  })
  await page.goto(`${url}/${path}`)
  return { page, complaints }
}

export async function logIn(page: Page, username = 'admin', password = PASSWORD): Promise<void> {
  await page.getByLabel('Username').fill(username)
  await page.getByLabel('Password').fill(password)
  await page.getByRole('button', { name: 'Log in' }).click()
}

/** Sessions by service and user: a login at each visit would take longer than most of what is done there. */
const sessions = new Map<string, Promise<string>>()

function sessionOf({ url, login }: Running, username: string): Promise<string> {
  const key = `${username} ${url}`
  const known = sessions.get(key) ?? login(username).then(({ cookie }) => String(cookie))
  sessions.set(key, known)
  return known
}

/** Opens a page as somebody who has logged in before. The session is that of all visits of this user. */
export async function visitAs(
  t: Test,
  browser: Browser,
  app: Running,
  path: string,
  { username = 'admin', ...options }: BrowserContextOptions & { username?: string } = {},
): Promise<Visitor> {
  const visitor = await visit(t, browser, app, path, { ...options, cookie: await sessionOf(app, username) })
  await visitor.page.getByRole('navigation', { name: 'Models' }).waitFor()
  return visitor
}
