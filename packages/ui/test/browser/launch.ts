/** A Chromium: HEDDLE_CHROMIUM names one, else the system's, else the one from npm. */
import { existsSync, mkdirSync, rmdirSync, statSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { chromium, type Browser } from 'playwright-core'

const systemBrowsers = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome']

export async function openBrowser(): Promise<Browser> {
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
