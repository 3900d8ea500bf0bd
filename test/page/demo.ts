import { type ChildProcess, spawn } from 'node:child_process'
import { join } from 'node:path'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { launchBrowser } from '../browser.ts'

/** The demo as a process, with a browser to look at it. For scripts; tests start services of their own. */

const COMMAND = join(import.meta.dirname, '../../src/cli/demo.ts')

export interface Demo {
  url: string
  passwords: Record<string, string>
  browser: Browser
  stop(): Promise<void>
}

export async function startDemo(): Promise<Demo> {
  const browser = await launchBrowser()
  if (!browser) throw new Error('There is no Chromium: set CHROMIUM to one.')
  const child = spawn(process.execPath, [COMMAND], {
    env: { ...process.env, PORT: '0' },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const said = await untilSaid(child)
  const passwordOf = (name: string) => new RegExp(`${name} +(\\S+)`).exec(said)?.[1] as string
  return {
    url: /http:\S+/.exec(said)?.[0] as string,
    passwords: Object.fromEntries(['admin', 'bob', 'hanna'].map((name) => [name, passwordOf(name)])),
    browser,
    async stop() {
      await browser.close()
      child.kill('SIGTERM')
    },
  }
}

function untilSaid(child: ChildProcess): Promise<string> {
  let said = ''
  return new Promise((resolve, reject) => {
    child.stdout?.on('data', (chunk) => {
      said += chunk
      if (said.includes('Ctrl+C')) resolve(said)
    })
    child.once('exit', () => reject(new Error('The demo has stopped.')))
  })
}

/** A page of the demo, logged in. */
export async function visitDemo(
  { url, passwords, browser }: Demo,
  path: string,
  { username = 'admin', ...options }: BrowserContextOptions & { username?: string } = {},
): Promise<Page> {
  const context = await browser.newContext({
    viewport: { width: 1280, height: 760 },
    locale: 'en-GB',
    timezoneId: 'Europe/Berlin',
    ...options,
  })
  const page = await context.newPage()
  await page.goto(`${url}/${path}`)
  await page.getByLabel('Username').fill(username)
  await page.getByLabel('Password').fill(passwords[username] as string)
  await page.getByRole('button', { name: 'Log in' }).click()
  await page.getByRole('navigation', { name: 'Models' }).waitFor()
  return page
}
