/**
 * Every view in both themes and on a phone: no serious finding of axe-core, no error in the console, nothing wider than the
 * screen, and a picture of it. The pictures are in `packages/ui/dist/screenshots`; those of the documents are copied from there.
 */
import assert from 'node:assert/strict'
import { mkdirSync } from 'node:fs'
import path from 'node:path'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { until } from '../../../core/test/kernel/until.ts'
import { deliver } from '../../../server/test/ui/deliver.ts'
import { examine } from './axe.ts'
import { openPage, tabTo } from './browser.ts'
import { Gates, longName, openServed, startCampaign, type Served } from './served.ts'

const pictures = path.join(import.meta.dirname, '../../dist/screenshots')
mkdirSync(pictures, { recursive: true })
const inventory = path.join(import.meta.dirname, 'inventory.json')
const headers = { 'content-type': 'application/json' }

/** Three workers, one of which delivers other results than the rest. */
async function fillFleet(url: string): Promise<void> {
  const near = (wins: number) => (units: number, lease: number) => {
    const won = Math.min(units, Math.round(units * wins) + (lease % 3))
    const lost = Math.floor((units - won) / 2)
    return [lost, units - won - lost, won]
  }
  const common = { url, job: 'match' }
  await deliver({ ...common, name: 'loom-a', leases: 9, result: near(0.29) })
  await deliver({ ...common, name: 'loom-b', leases: 7, result: near(0.33), keepsLast: true })
  await deliver({ ...common, name: 'spindle', leases: 2, result: near(0.7) })
}

async function post(url: string, body: unknown, expected = 201): Promise<void> {
  const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) })
  assert.equal(response.status, expected, await response.text())
}

const tuned = [
  { name: 'depth', start: 10, min: 0, max: 20, c_end: 1, r_end: 0.002 },
  { name: 'margin', start: 120, min: 0, max: 400, c_end: 10, r_end: 0.002 },
]

/** A worker that delivers pairs of games for a campaign that proposes parameters. */
async function tune(url: string): Promise<void> {
  const result = (units: number, lease: number): number[] => {
    const won = Math.min(units, Math.round(units * 0.3) + (lease % 5))
    return [Math.floor((units - won) / 2), Math.ceil((units - won) / 2), won]
  }
  await deliver({ url, job: 'tune', name: 'loom-c', leases: 6, result })
}

async function addSchedules(url: string): Promise<void> {
  const timezone = 'Europe/Berlin'
  await post(`${url}/schedules`, { name: 'nightly', cron: '0 3 * * *', timezone, graph: 'nightly' })
  const often = { name: 'hourly check', cron: '15 * * * *', timezone: 'UTC', graph: 'wide' }
  await post(`${url}/schedules`, often)
}

const ada = { name: 'ada', password: 'correct horse battery' }

/** Users, and tokens that the first of them makes. */
async function addPeople(url: string): Promise<void> {
  await post(`${url}/users`, { ...ada, role: 'admin' })
  const login = await fetch(`${url}/login`, { method: 'POST', headers, body: JSON.stringify(ada) })
  const cookie = login.headers
    .getSetCookie()
    .map((one) => one.split(';')[0]!)
    .join('; ')
  const session = await fetch(`${url}/session`, { headers: { cookie } })
  const { csrf } = (await session.json()) as { csrf: string }
  const asAda = async (route: string, body: object): Promise<void> => {
    const own = { ...headers, cookie, 'x-csrf-token': csrf }
    const answer = await fetch(url + route, {
      method: 'POST',
      headers: own,
      body: JSON.stringify(body),
    })
    assert.ok(answer.ok, `${route}: ${await answer.text()}`)
  }
  await asAda('/users', { name: 'grace', role: 'operator', password: 'correct horse battery' })
  await asAda('/users', { name: 'linus', role: 'viewer', password: 'correct horse battery' })
  await asAda('/tokens', { name: 'lab-looms', scopes: ['worker'] })
}

/** More than it takes: some wait, the rest is refused. */
async function overload(url: string): Promise<void> {
  for (const gate of ['a', 'b', 'c', 'd']) {
    await fetch(`${url}/jobs/hold`, { method: 'POST', headers, body: JSON.stringify(gate) })
  }
}

/** Resolves when a run has ended. */
async function ended({ url }: Served, run: string): Promise<void> {
  const stream = await fetch(`${url}/runs/${run}/events`)
  // It ends with the run.
  await stream.text()
}

const nightlyLimits = { loop: 6, thread: 2 }

/** Puts something on every page. */
async function fill(served: Served) {
  const campaign = await startCampaign(served.url, { name: 'patch 12' })
  await fillFleet(served.url)
  const tuning = await startCampaign(served.url, {
    name: 'tune 7',
    job: 'tune',
    rule: undefined,
    units: 20_000,
    proposal: { kind: 'spsa', parameters: tuned },
  })
  await tune(served.url)
  await addSchedules(served.url)
  await post(`${served.url}/jobs/report?wait=60000`, 150, 200)
  const before = await served.start('nightly', { args: { stations: 20 }, title: 'nightly.ts' })
  await ended(served, before)
  const strange = await served.start('strange', { title: longName, key: longName })
  await ended(served, strange)
  const failed = await served.start('shaky')
  const nightly = await served.start('nightly')
  await ended(served, nightly)
  const season = await served.start('season')
  await ended(served, season)
  const cancelled = await served.start('release')
  await post(`${served.url}/runs/${cancelled}/cancel`, { abort: true }, 200)
  await ended(served, cancelled)
  const release = await served.start('release')
  const live = await served.start('nightly', { args: { gate: 'publish' } })
  await publishing(served, live)
  const runs = { before, strange, failed, nightly, season, release, cancelled, live }
  return { served, campaign, tuning, ...runs }
}

/** Resolves when the last node of the run waits at its gate. */
async function publishing({ url }: Served, run: string): Promise<void> {
  await until(async () => {
    const answer = await fetch(`${url}/runs/${run}/nodes/publish`)
    const { state } = (await answer.json()) as { state: string }
    return state === 'running'
  })
}

interface View {
  readonly name: string
  readonly url: string
  /** Is there when the view is. */
  readonly ready: string
  /** What is done before the picture. */
  readonly act?: (page: Page) => Promise<void>
}

type Filled = Awaited<ReturnType<typeof fill>>

function viewsOf(filled: Filled, busy: Served, locked: Served, empty: Served): readonly View[] {
  const { served, campaign, tuning, before, strange, failed, nightly } = filled
  const { season, release, cancelled, live } = filled
  const at = (hash: string, server = served): string => `${server.url}/ui/#/${hash}`
  const press = (key: string) => async (page: Page) => {
    await page.keyboard.press(key)
    await page.getByRole('dialog').waitFor()
  }
  return [
    { name: 'runs', url: at('runs'), ready: 'tbody tr' },
    { name: 'runs-none', url: at('runs', empty), ready: '.empty' },
    {
      name: 'runs-chosen',
      url: at('runs?state=succeeded'),
      ready: 'tbody tr',
      act: async (page) => {
        for (const box of await page.locator('tbody input[type=checkbox]').all()) await box.check()
      },
    },
    { name: 'run-live', url: at(`runs/${live}/timeline?node=publish`), ready: '.panel-body' },
    { name: 'run-timeline', url: at(`runs/${nightly}/timeline`), ready: '.timeline-canvas' },
    {
      name: 'run-timeline-nodes',
      url: at(`runs/${nightly}/timeline?rows=node&node=store%20Wien`),
      ready: '.panel-body',
    },
    { name: 'run-graph', url: at(`runs/${nightly}/graph?node=merge`), ready: '.panel-body' },
    {
      name: 'run-graph-live',
      url: at(`runs/${live}/graph`),
      ready: '.graph-area[aria-busy=false]',
    },
    {
      name: 'run-graph-large',
      url: at(`runs/${season}/graph`),
      ready: '.graph-area[aria-busy=false]',
    },
    {
      name: 'run-nodes',
      url: at(`runs/${nightly}/nodes?sort=took&down=1`),
      ready: '.nodes-area tbody tr',
    },
    {
      name: 'run-nodes-panel',
      url: at(`runs/${nightly}/nodes?node=store%20Wien`),
      ready: '.panel-body',
    },
    {
      name: 'run-cancelled',
      url: at(`runs/${cancelled}/nodes?node=approve`),
      ready: '.panel-body',
    },
    { name: 'run-log-none', url: at(`runs/${season}/log`), ready: '.empty' },
    {
      name: 'run-past',
      url: at(`runs/${nightly}/graph?at=600`),
      ready: '.graph-area[aria-busy=false]',
    },
    { name: 'run-what-if', url: at(`runs/${nightly}/what-if`), ready: '.tab-page tbody tr' },
    { name: 'run-log', url: at(`runs/${nightly}/log`), ready: '.log-tab .log' },
    { name: 'run-compare', url: at(`runs/${nightly}/compare?with=${before}`), ready: '.figures' },
    { name: 'run-compare-choice', url: at(`runs/${nightly}/compare`), ready: '.tab-page tbody tr' },
    { name: 'run-failed', url: at(`runs/${failed}/graph?node=broken`), ready: '.error-view' },
    { name: 'run-waiting', url: at(`runs/${release}/graph?node=approve`), ready: '.waits' },
    {
      name: 'run-strange',
      url: at(`runs/${strange}/nodes?node=${encodeURIComponent(longName)}`),
      ready: '.error-view',
    },
    {
      name: 'run-export',
      url: at(`runs/${nightly}/graph`),
      ready: '.graph-area[aria-busy=false]',
      act: (page) => page.getByRole('button', { name: 'Export this run' }).click(),
    },
    {
      name: 'menu',
      url: at('schedules'),
      ready: 'tbody tr',
      act: async (page) => {
        const button = page.getByRole('button', { name: 'Menu', exact: true })
        // Only a phone has this button.
        if (await button.isVisible()) await button.click()
        else
          await page
            .getByRole('button', { name: /^History of/ })
            .first()
            .click()
      },
    },
    { name: 'run-missing', url: at('runs/20200101-000000-none'), ready: '.empty' },
    {
      name: 'palette',
      url: at(`runs/${nightly}/timeline`),
      ready: '.timeline-canvas',
      act: press('/'),
    },
    {
      name: 'keys',
      url: at(`runs/${nightly}/timeline`),
      ready: '.timeline-canvas',
      act: press('?'),
    },
    {
      name: 'confirm',
      url: at(`runs/${live}/timeline`),
      ready: '.timeline-canvas',
      act: press('q'),
    },
    { name: 'start-run', url: at('runs'), ready: 'tbody tr', act: press('n') },
    {
      name: 'jobs',
      url: at('jobs?job=forecast'),
      ready: 'form',
      act: async (page) => {
        await page.getByLabel('Station').fill('Riga')
        await page.getByRole('button', { name: 'Submit' }).click()
        await page.getByLabel('Result', { exact: true }).waitFor()
      },
    },
    {
      name: 'jobs-picture',
      url: at('jobs?job=draw'),
      ready: 'form',
      act: async (page) => {
        await page.getByRole('button', { name: 'Submit' }).click()
        await page
          .getByRole('img', { name: /^Result/ })
          .evaluate((image: HTMLImageElement) => image.decode())
      },
    },
    {
      name: 'jobs-failed',
      url: at('jobs?job=overflow'),
      ready: 'form',
      act: async (page) => {
        await page.getByLabel('Input, as JSON').fill('7')
        await page.getByRole('button', { name: 'Submit' }).click()
        await page.getByLabel('Failure').getByLabel('Log').waitFor()
      },
    },
    { name: 'load', url: at('load', busy), ready: '.chart canvas' },
    { name: 'load-idle', url: at('load', empty), ready: '.chart canvas' },
    { name: 'schedules', url: at('schedules'), ready: 'tbody tr' },
    { name: 'schedules-none', url: at('schedules', empty), ready: '.empty' },
    {
      name: 'schedules-add',
      url: at('schedules'),
      ready: 'tbody tr',
      act: async (page) => {
        await page.getByRole('button', { name: 'Add a schedule' }).click()
        await page.getByRole('dialog').waitFor()
      },
    },
    { name: 'loop', url: at('loop'), ready: '.figures' },
    { name: 'boundaries', url: at('boundaries'), ready: 'table.matrix' },
    { name: 'boundaries-none', url: at('boundaries', empty), ready: '.page' },
    { name: 'fleet', url: at('fleet'), ready: '.page tbody tr' },
    { name: 'fleet-none', url: at('fleet', empty), ready: '.empty' },
    { name: 'campaigns', url: at('campaigns'), ready: 'tbody tr' },
    { name: 'campaigns-none', url: at('campaigns', empty), ready: '.empty' },
    { name: 'campaign', url: at(`campaigns/${campaign}`), ready: '.chart canvas' },
    { name: 'campaign-tuning', url: at(`campaigns/${tuning}`), ready: '.chart canvas' },
    { name: 'campaign-missing', url: at('campaigns/none'), ready: '.empty' },
    { name: 'loop-none', url: at('loop', empty), ready: '.figures' },
    { name: 'audit-none', url: at('audit', empty), ready: '.empty' },
    { name: 'people', url: at('people'), ready: '.page .card' },
    { name: 'audit', url: at('audit'), ready: 'tbody tr' },
    { name: 'link', url: at('link/0123456789'), ready: '.entry' },
    { name: 'login', url: `${locked.url}/ui/`, ready: '.entry' },
    {
      name: 'people-users',
      url: at('people', locked),
      ready: '.entry',
      act: async (page) => {
        await page.getByLabel('Name').fill(ada.name)
        await page.getByLabel('Password').fill(ada.password)
        await page.getByRole('button', { name: 'Log in' }).click()
        await page.getByRole('button', { name: 'Sessions of ada' }).click()
        await page.getByText('logged in').first().waitFor()
      },
    },
    { name: 'unknown', url: at('nowhere'), ready: '.empty' },
  ]
}

/** Texts that are wider than the element they stand in, and do not end in “…”: they are cut, or lie over another one. */
function cutTexts(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    const found: string[] = []
    for (const element of document.querySelectorAll('h1, h2, h3, th, td, dt, dd, label, button')) {
      const { clientWidth, scrollWidth } = element
      // One pixel: visible to screen readers only.
      if (clientWidth <= 1 || scrollWidth <= clientWidth + 1) continue
      const { overflowX, textOverflow } = getComputedStyle(element)
      if (textOverflow === 'ellipsis' || overflowX === 'auto' || overflowX === 'scroll') continue
      const text = element.textContent?.trim().slice(0, 60) ?? ''
      if (text !== '') found.push(`cut: ${text} (${scrollWidth} in ${clientWidth} pixels)`)
    }
    return found
  })
}

const screens = {
  desk: { width: 1360, height: 850 },
  phone: { width: 390, height: 780 },
} as const

type Screen = keyof typeof screens

const themes = ['light', 'dark'] as const

/** Opens a view, and checks it in both themes. Returns its faults. */
async function show(view: View, screen: Screen): Promise<string[]> {
  const { name, url, ready, act } = view
  const { page, context, problems } = await openPage(url, { theme: themes[0], ...screens[screen] })
  await page
    .locator(ready)
    .first()
    .waitFor()
    .catch(async (error: unknown) => {
      const text = await page.locator('body').innerText()
      throw new Error(`${screen}: ${problems.join('; ')}\n${text}`, { cause: error })
    })
  await page.waitForLoadState('load')
  await act?.(page)
  const findings: string[] = []
  for (const theme of themes) {
    for (const finding of await look(page, view, screen, theme)) {
      findings.push(`${screen}, ${theme}: ${finding}`)
    }
  }
  // A missing or failing resource is answered with a status that the browser itself reports.
  const expected = name.endsWith('-missing')
    ? ' 404 '
    : name === 'jobs-failed'
      ? ' 500 '
      : undefined
  findings.push(...problems.filter((one) => expected === undefined || !one.includes(expected)))
  await context.close()
  return findings
}

/** Checks a page with axe-core, and takes a picture. Returns its faults. */
async function look(
  page: Page,
  { name }: View,
  screen: Screen,
  theme: (typeof themes)[number],
): Promise<string[]> {
  await page.emulateMedia({ colorScheme: theme })
  await page.locator(`html[data-theme=${theme}]`).waitFor()
  await page.evaluate(
    () => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))),
  )
  // During a transition, colours belong to neither theme.
  await page.evaluate(async () => {
    const transitions = document.getAnimations().filter((each) => each instanceof CSSTransition)
    await Promise.allSettled(transitions.map(({ finished }) => finished))
  })
  const findings = await examine(page)
  const title = `${screen === 'phone' ? 'phone-' : ''}${name}-${theme}`
  await page.screenshot({ path: path.join(pictures, `${title}.png`) })
  findings.push(...(await cutTexts(page)))
  const width = await page.evaluate(() => document.documentElement.scrollWidth)
  if (width > screens[screen].width) findings.push(`it is ${width} pixels wide`)
  return findings
}

const only = process.env['HEDDLE_UI_VIEWS']?.split(',')

/** For one view, and for all of them: with Infinity the runner's own limit, which is meant for one, would end them all. */
const viewTimeout = 600_000
const allTimeout = 6 * viewTimeout

test(
  'every view, at a desk and on a phone, is accessible and without errors in both themes',
  { timeout: allTimeout },
  async (t) => {
    const gates = new Gates()
    await using served = await openServed({ gates, inventory, limits: nightlyLimits })
    // Two seats, one of which runs: the others wait or are refused.
    const narrow = { loop: 1, prepareCapacity: 2, queue: 3_600_000 }
    await using busy = await openServed({ gates, limits: narrow })
    await using locked = await openServed()
    await using empty = await openServed()
    // Declared last: waits at a gate end before their server does.
    using _opening = { [Symbol.dispose]: () => gates.openAll() }
    const [filled] = await Promise.all([fill(served), overload(busy.url), addPeople(locked.url)])
    for (const view of viewsOf(filled, busy, locked, empty)) {
      if (only !== undefined && !only.includes(view.name)) continue
      await t.test(view.name, { timeout: viewTimeout }, async () => {
        const found = await Promise.all([show(view, 'desk'), show(view, 'phone')])
        assert.deepEqual(found.flat(), [])
      })
    }
    await post(`${served.url}/runs/${filled.release}/cancel`, { abort: true }, 200)
  },
)

test('a job is submitted by its form, and its result is shown', async () => {
  await using served = await openServed()
  const { page, context, problems } = await openPage(`${served.url}/ui/#/jobs`)
  await page.getByRole('button', { name: 'square' }).click()
  await page.getByLabel('Input, as JSON').fill('12')
  await page.getByRole('button', { name: 'Submit' }).click()
  await page.getByLabel('Result', { exact: true }).getByText('144', { exact: true }).waitFor()
  await page.getByLabel('Input, as JSON').fill('[1,')
  await page.getByRole('button', { name: 'Submit' }).click()
  await page.getByText('The field “Input, as JSON” is not JSON').waitFor()
  assert.deepEqual(problems, [])
  await context.close()
})

test('a job with a schema has a field for each property, with its choices, by keyboard', async () => {
  await using served = await openServed()
  const { page, context, problems } = await openPage(`${served.url}/ui/#/jobs?job=forecast`)
  await page.getByLabel('Station').fill('Riga')
  await page.getByLabel('Unit').selectOption('F')
  await page.getByLabel('Days').fill('2')
  await page.keyboard.press('Enter')
  const result = page.getByLabel('Result', { exact: true })
  await result.getByText('"unit": "F"').waitFor()
  assert.equal((await result.innerText()).match(/^\s+21,?$/gm)?.length, 2)
  assert.deepEqual(problems, [])
  await context.close()
})

test('a job that fails shows its error, attempts and log to operators, and the reference can be looked up', async () => {
  await using served = await openServed()
  const { page, context, problems } = await openPage(`${served.url}/ui/#/jobs?job=overflow`)
  await page.getByLabel('Input, as JSON').fill('7')
  await page.getByRole('button', { name: 'Submit' }).click()
  const failure = page.getByLabel('Failure')
  await failure.getByText('7 does not fit <b>here</b>').first().waitFor()
  await failure.getByRole('heading', { name: '2 attempts' }).waitFor()
  await failure.getByLabel('Log').getByText('tries to fit 7').first().waitFor()
  const told = await page.locator('.note.bad').innerText()
  const reference = /Reference: (\S+)\.$/.exec(told)?.[1]
  assert.ok(reference !== undefined, told)
  // From here on by keyboard only: the page of another operator, who got the reference from a client.
  await page.reload()
  await page.locator('form').first().waitFor()
  await tabTo(page, 'Reference')
  await page.keyboard.type(reference)
  await page.keyboard.press('Enter')
  await failure.getByText('7 does not fit <b>here</b>').first().waitFor()
  assert.match(page.url(), new RegExp(`reference=${reference}`))
  await page.getByLabel('Reference').fill('unknown')
  await page.keyboard.press('Enter')
  await page.getByText('This server does not know the reference.').waitFor()
  assert.deepEqual(
    problems.filter((one) => !/ 500 | 404 /.test(one)),
    [],
  )
  await context.close()
})

test('a job without an input is submitted without one, and the picture that it returns is shown', async () => {
  await using served = await openServed()
  const { page, context, problems } = await openPage(`${served.url}/ui/#/jobs?job=draw`)
  await page.getByRole('button', { name: 'Submit' }).click()
  const picture = page.getByRole('img', { name: /^Result of draw/ })
  await picture.waitFor()
  assert.equal(
    await picture.evaluate(async (image: HTMLImageElement) => {
      await image.decode()
      return image.naturalWidth > 0
    }),
    true,
  )
  assert.deepEqual(problems, [])
  await context.close()
})

test('a job that takes longer than one request waits is waited for by the next one, until the reader stops', async () => {
  await using served = await openServed()
  const { page, context, problems } = await openPage(`${served.url}/ui/#/jobs?job=hold`)
  // The first request does not wait at all: the result is pending at once.
  await page.route('**/jobs/hold?wait=*', (route) =>
    route.continue({
      url: route
        .request()
        .url()
        .replace(/wait=\d+/, 'wait=0'),
    }),
  )
  const submit = page.getByRole('button', { name: 'Submit' })
  await page.getByLabel('Input, as JSON').fill('"first"')
  await submit.click()
  await page.getByText('The job has not ended yet.').waitFor()
  await page.getByRole('button', { name: 'Stop waiting' }).click()
  await page.getByLabel('Input, as JSON').fill('"second"')
  await submit.click()
  await page.getByText('The job has not ended yet.').waitFor()
  served.gates.openAll()
  await page.getByLabel('Result', { exact: true }).getByText('"second"').waitFor()
  assert.deepEqual(problems, [])
  await context.close()
})
