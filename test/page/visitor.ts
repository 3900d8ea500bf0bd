import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import type { Test } from 'tap'
import { PASSWORD, type Running } from '../helper.ts'

/** A page in a browser, and the problems it reported. */
export interface Visitor {
  page: Page
  /** errors and warnings in the console, and requests to other origins */
  complaints: string[]
}

export const DESKTOP = { width: 1280, height: 800 }
export const PHONE = { width: 360, height: 740 }

/** Opens a page in a new browser context, without cookies. */
export async function visit(
  t: Test,
  browser: Browser,
  { url }: Running,
  path = '',
  options: BrowserContextOptions = {},
): Promise<Visitor> {
  const context = await browser.newContext({ viewport: DESKTOP, timezoneId: 'Europe/Berlin', ...options })
  context.setDefaultTimeout(Number(process.env.PAGE_TIMEOUT ?? 30_000))
  t.teardown(() => context.close())
  const page = await context.newPage()
  const complaints: string[] = []
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) complaints.push(message.text())
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

/** Opens a page and logs in. */
export async function visitAs(
  t: Test,
  browser: Browser,
  app: Running,
  path: string,
  { username = 'admin', ...options }: BrowserContextOptions & { username?: string } = {},
): Promise<Visitor> {
  const visitor = await visit(t, browser, app, path, options)
  await logIn(visitor.page, username)
  await visitor.page.getByRole('navigation', { name: 'Models' }).waitFor()
  return visitor
}
