/** One Chromium for a test process, and pages that record forbidden events. */
import { after } from 'node:test'
import type { Browser, BrowserContext, Locator, Page } from 'playwright-core'
import { openBrowser } from './launch.ts'

/** Milliseconds. A machine with 20 busy processes on two cores needs less than a quarter of it. */
const stepLimit = 120_000

let shared: Promise<Browser> | undefined

// Runs after the whole file: every file that imports this has one browser for all of its tests.
after(async () => (await shared)?.close())

export interface OpenPage {
  readonly page: Page
  readonly context: BrowserContext
  /** Everything that a page must not do: errors in the console, exceptions, failed or foreign requests. */
  readonly problems: string[]
}

export interface PageOptions {
  readonly theme?: 'light' | 'dark'
  readonly width?: number
  readonly height?: number
  readonly reducedMotion?: boolean
}

/** Opens a page that records its problems. */
export async function openPage(url: string, options: PageOptions = {}): Promise<OpenPage> {
  const { theme = 'light', width = 1360, height = 850 } = options
  const browser = await (shared ??= openBrowser())
  const context = await browser.newContext({
    viewport: { width, height },
    colorScheme: theme,
    reducedMotion: 'reduce',
    locale: 'en-GB',
    timezoneId: 'UTC',
  })
  // Limit of each step: a page that does not get there fails here, and names the step.
  context.setDefaultTimeout(stepLimit)
  const page = await context.newPage()
  const slowdown = Number(process.env['HEDDLE_UI_SLOWDOWN'] ?? 1)
  if (slowdown > 1) {
    const session = await context.newCDPSession(page)
    await session.send('Emulation.setCPUThrottlingRate', { rate: slowdown })
  }
  const problems: string[] = []
  // A page from a file may ask for nothing but itself.
  const { protocol, origin } = new URL(url)
  const own = protocol === 'file:' ? url : origin
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning')
      problems.push(`${message.type()}: ${message.text()}`)
  })
  page.on('pageerror', (error) =>
    problems.push(`exception: ${error.message}\n${error.stack ?? ''}`),
  )
  page.on('request', (request) => {
    if (!request.url().startsWith(own) && !request.url().startsWith('data:'))
      problems.push(`request to ${request.url()}`)
  })
  await page.goto(url)
  return { page, context, problems }
}

/** A sequence of two keys has a time limit (K2), which this process may miss on a busy machine: then once more. */
export async function pressBoth(
  page: Page,
  first: string,
  second: string,
  seen: Locator,
): Promise<void> {
  for (let i = 0; i < 20; i++) {
    await page.keyboard.press(first)
    await page.keyboard.press(second)
    const isSeen = await seen.waitFor({ timeout: 6_000 }).then(
      () => true,
      () => false,
    )
    if (isSeen) return
  }
  throw new Error(`${first} ${second} led to nothing`)
}

/** Presses Tab until the element with this name has the focus: its own, that of its label, or its text. */
export async function tabTo(page: Page, name: string): Promise<void> {
  for (let i = 0; i < 80; i++) {
    await page.keyboard.press('Tab')
    const focused = await page.evaluate(() => {
      const element = document.activeElement
      const label = element?.closest('label')?.querySelector('span')
      return element?.getAttribute('aria-label') ?? label?.textContent ?? element?.textContent
    })
    if (focused?.replaceAll(/\s+/g, ' ').trim() === name) return
  }
  throw new Error(`${name} is not reached by Tab`)
}
