/** One Chromium for a test process: the one from npm, or the system's (HEDDLE_CHROMIUM names another). */
import { existsSync, mkdirSync, rmdirSync, statSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { after } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { chromium, type Browser, type BrowserContext, type Page } from 'playwright-core'

const systemBrowsers = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome']

let shared: Promise<Browser> | undefined

// Of the whole file: whoever imports this has one browser for all of its tests.
after(async () => (await shared)?.close())

async function launch(): Promise<Browser> {
  const executablePath = await findBrowser()
  return chromium.launch({
    executablePath,
    args: [
      '--no-sandbox',
      '--no-zygote',
      '--disable-dev-shm-usage',
      '--disable-gpu',
      '--font-render-hinting=none',
      '--hide-scrollbars',
    ],
  })
}

async function findBrowser(): Promise<string> {
  const named = process.env['HEDDLE_CHROMIUM']
  if (named !== undefined) return named
  const found = systemBrowsers.find((file) => existsSync(file))
  if (found !== undefined) return found
  // The package unpacks itself into the temporary folder when it is first used: one process at a time.
  const lock = path.join(os.tmpdir(), 'heddle-chromium.lock')
  for (;;) {
    try {
      mkdirSync(lock)
      break
    } catch {
      if (lockAge(lock) > 120_000) rmdirSync(lock)
      await wait(100)
    }
  }
  try {
    const { default: packed } = await import('@sparticuz/chromium')
    return await packed.executablePath()
  } finally {
    rmdirSync(lock)
  }
}

function lockAge(lock: string): number {
  try {
    return Date.now() - statSync(lock).mtimeMs
  } catch {
    return 0
  }
}

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
  const browser = await (shared ??= launch())
  const context = await browser.newContext({
    viewport: { width, height },
    colorScheme: theme,
    reducedMotion: 'reduce',
    locale: 'en-GB',
    timezoneId: 'UTC',
  })
  context.setDefaultTimeout(120_000)
  const page = await context.newPage()
  const problems: string[] = []
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning')
      problems.push(`${message.type()}: ${message.text()}`)
  })
  page.on('pageerror', (error) =>
    problems.push(`exception: ${error.message}\n${error.stack ?? ''}`),
  )
  page.on('request', (request) => {
    if (!request.url().startsWith(new URL(url).origin) && !request.url().startsWith('data:'))
      problems.push(`request to ${request.url()}`)
  })
  await page.goto(url)
  return { page, context, problems }
}
