/**
 * Whatever is clicked, pressed and typed, in whatever order and on whatever page: no error in the console, and the page
 * stays usable. The seed is in the name of the test, and the actions are in its message; HEDDLE_UI_SEED plays another
 * one.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { seededRandom, type Random } from '@heddle/core/lowlevel'
import { deliver } from '../../../server/test/ui/deliver.ts'
import { openPage, type OpenPage } from './browser.ts'
import { openServed, startCampaign, type Served } from './served.ts'

const keys = [
  '/ ? Escape Enter Tab Shift+Tab Space ArrowRight ArrowDown Home',
  'j k o x g r l t u f c a n h v s p q',
  '1 2 3 4 5 6 + - 0 [ ] =',
].flatMap((some) => some.split(' '))
const texts = ['12', '{}', '[1,', '<b>x</b>', 'night', '0 3 * * *', ' ', '\u{1f9f5}']

/**
 * An action may be refused: it came too late for a run that has ended, a form was incomplete. The page says so, and the
 * browser itself reports the answer in the console.
 */
function unexpected(problems: readonly string[]): string[] {
  return problems.filter((problem) => !/responded with a status of (400|409)/.test(problem))
}

/** Does something, and says what. */
async function act(page: Page, random: Random): Promise<string> {
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random.next() * list.length)]!
  const what = random.next()
  if (what < 0.4) {
    const key = pick(keys)
    await page.keyboard.press(key)
    return `press ${key}`
  }
  if (what < 0.48) {
    const text = pick(texts)
    await page.keyboard.insertText(text)
    return `type ${text}`
  }
  if (what < 0.58) {
    const [x, y] = [220 + random.next() * 1_100, 60 + random.next() * 760]
    await page.mouse.click(x, y)
    return `click at ${Math.round(x)}, ${Math.round(y)}`
  }
  // In the page: an element may be gone by the time a locator has found it.
  const found = await page.evaluate((share) => {
    // What is behind an open dialog cannot be reached.
    const within = [...document.querySelectorAll('dialog[open]')].at(-1) ?? document
    const all = [
      ...within.querySelectorAll<HTMLElement>(
        'button:not(:disabled), a[href^="#"], [role=option], input, select, summary',
      ),
    ]
    const chosen = all[Math.floor(share * all.length)]
    chosen?.focus()
    chosen?.click()
    return chosen?.getAttribute('aria-label') ?? chosen?.textContent?.trim() ?? ''
  }, random.next())
  return `choose ${found.slice(0, 40)}`
}

/** A server with something on every page. */
async function openFilled() {
  const served = await openServed()
  const campaign = await startCampaign(served.url, { name: 'patch 12' })
  const result = (units: number): number[] => [0, units, 0]
  await deliver({ url: served.url, name: 'loom', job: 'match', leases: 3, result })
  await served.start('shaky')
  const wide = await served.start('wide')
  const run = await served.start('diamond')
  return { served, campaign, wide, run }
}

/** A page on which no user and no token can be added: the first one would lock out everything that comes after it. */
async function openWithoutUsers(url: string): Promise<OpenPage> {
  const opened = await openPage(url)
  const error = { code: 'conflict', message: 'Nobody is added here.', retryable: false }
  await opened.page.route(/\/(?:users|tokens)$/, (route) =>
    route.request().method() === 'POST'
      ? route.fulfill({ status: 409, json: { error } })
      : route.continue(),
  )
  return opened
}

/** Runs that the actions have started end here: they would outlive the server. */
async function settle({ gates, url }: Served): Promise<void> {
  gates.openAll()
  const active = async (): Promise<readonly { id: string }[]> => {
    const response = await fetch(`${url}/runs?state=active&limit=100`)
    return ((await response.json()) as { runs: { id: string }[] }).runs
  }
  for (let runs = await active(); runs.length > 0; runs = await active()) {
    for (const { id } of runs) {
      const headers = { 'content-type': 'application/json' }
      const body = JSON.stringify({ abort: true })
      await fetch(`${url}/runs/${id}/cancel`, { method: 'POST', headers, body })
    }
  }
}

const named = process.env['HEDDLE_UI_SEED']
const seeds = named === undefined ? [1, 20_261_117] : [Number(named)]
const actions = 120

for (const seed of seeds) {
  test(`${actions} random actions leave no error in the console (seed ${seed})`, async () => {
    const random = seededRandom(seed)
    const { served, run } = await openFilled()
    await using _served = served
    const { page, context, problems } = await openWithoutUsers(`${served.url}/ui/#/runs/${run}`)
    await page.locator('.run-head').waitFor()
    const done: string[] = []
    for (let i = 0; i < actions; i++) {
      done.push(await act(page, random))
      if (i === 60) served.gates.openAll()
      assert.deepEqual(unexpected(problems), [], `seed ${seed} after: ${done.join('; ')}`)
    }
    await isUsable(page)
    assert.deepEqual(unexpected(problems), [])
    await context.close()
    await settle(served)
  })
}

const onEach = 12

test(`${onEach} random actions on every page leave no error in the console (seed ${seeds[0]})`, async () => {
  const random = seededRandom(seeds[0]!)
  const { served, campaign, wide, run } = await openFilled()
  await using _served = served
  const pages = [
    'runs',
    ...['timeline', 'graph', 'nodes', 'log', 'what-if'].map((tab) => `runs/${run}/${tab}`),
    `runs/${wide}/compare?with=${run}`,
    `runs/${wide}/graph?at=0`,
    'jobs?job=square',
    'load',
    'schedules',
    'loop',
    'boundaries',
    'fleet',
    'campaigns',
    `campaigns/${campaign}`,
    'audit',
    'people',
  ]
  const { page, context, problems } = await openWithoutUsers(`${served.url}/ui/#/runs`)
  for (const [index, name] of pages.entries()) {
    await isUsable(page)
    await page.evaluate((hash) => {
      location.hash = hash
    }, `#/${name}`)
    await page.locator('#content').waitFor()
    const done: string[] = []
    for (let i = 0; i < onEach; i++) {
      done.push(await act(page, random))
      assert.deepEqual(unexpected(problems), [], `${name} after: ${done.join('; ')}`)
    }
    if (index === 3) served.gates.openAll()
  }
  await isUsable(page)
  assert.deepEqual(unexpected(problems), [])
  await context.close()
  await settle(served)
})

/** Dialogs close, and the list of runs can be reached. */
async function isUsable(page: Page): Promise<void> {
  // A dialog over the palette, and the selection behind them.
  for (let i = 0; i < 3; i++) await page.keyboard.press('Escape')
  await page.evaluate(() => {
    location.hash = '#/runs'
  })
  await page
    .getByRole('heading', { name: 'Runs', exact: true })
    .waitFor()
    .catch(async (error: unknown) => {
      const text = await page.locator('body').innerText()
      throw new Error(`${page.url()} does not lead to the runs: ${text}`, { cause: error })
    })
}
