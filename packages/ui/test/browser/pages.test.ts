/**
 * Every view in both themes: no serious finding of axe-core, no error in the console, and a picture of it. The pictures are
 * in `packages/ui/dist/screenshots`.
 */
import assert from 'node:assert/strict'
import { mkdirSync } from 'node:fs'
import path from 'node:path'
import { test } from 'node:test'
import { makeRun } from '../stand-in/made-run.ts'
import { serveMade } from '../stand-in/stand-in.ts'
import { examine } from './axe.ts'
import { openPage } from './browser.ts'
import { deliver } from '../../../server/test/ui/deliver.ts'
import { openServed, startCampaign } from './served.ts'

const pictures = path.join(import.meta.dirname, '../../dist/screenshots')
mkdirSync(pictures, { recursive: true })
const inventory = path.join(import.meta.dirname, 'inventory.json')

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

async function post(url: string, body: object): Promise<void> {
  const headers = { 'content-type': 'application/json' }
  const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) })
  assert.equal(response.status, 201, await response.text())
}

function addSchedule(url: string): Promise<void> {
  return post(`${url}/schedules`, {
    name: 'nightly',
    cron: '0 3 * * *',
    timezone: 'Europe/Berlin',
    graph: 'wide',
  })
}

function addUser(url: string): Promise<void> {
  return post(`${url}/users`, { name: 'ada', role: 'admin', password: 'correct horse battery' })
}

/** More than it takes: some wait, the rest is refused. */
async function overload(url: string): Promise<void> {
  const headers = { 'content-type': 'application/json' }
  for (const gate of ['a', 'b', 'c', 'd']) {
    await fetch(`${url}/jobs/hold`, { method: 'POST', headers, body: JSON.stringify(gate) })
  }
}

for (const theme of ['light', 'dark'] as const) {
  test(`every view in the ${theme} theme is accessible and without errors`, async () => {
    const made = [
      makeRun({
        id: '20261117-0300-k4m9',
        title: 'nightly.ts',
        items: 24,
        startedAt: Date.UTC(2026, 10, 17, 3),
      }),
      makeRun({
        id: '20261116-0300-a1c7',
        title: 'nightly.ts',
        items: 24,
        startedAt: Date.UTC(2026, 10, 16, 3),
        seed: 11,
      }),
      makeRun({
        id: '20261115-0300-zz81',
        title: 'nightly.ts',
        items: 20,
        startedAt: Date.UTC(2026, 10, 15, 3),
        outcome: 'failed',
      }),
      makeRun({
        id: '20261114-1800-large',
        title: 'campaign.ts',
        items: 250,
        startedAt: Date.UTC(2026, 10, 14, 18),
        lanes: 24,
      }),
    ]
    await using standIn = await serveMade(made)
    await using served = await openServed({ inventory })
    const campaign = await startCampaign(served.url, { name: 'patch 12' })
    await fillFleet(served.url)
    await addSchedule(served.url)
    for (const gate of ['fetch', 'left']) served.gates.open(gate)
    // Two seats, one of which runs: the others wait or are refused.
    await using busy = await openServed({
      limits: { loop: 1, prepareCapacity: 2, queue: 3_600_000 },
    })
    await overload(busy.url)
    await using locked = await openServed()
    await addUser(locked.url)
    await served.start('shaky')
    const first = await served.start('wide')
    const second = await served.start('wide')
    const run = await served.start('diamond')
    const views: readonly (readonly [name: string, url: string, ready: string])[] = [
      ['runs', `${served.url}/ui/#/runs`, 'table'],
      ['run-live', `${served.url}/ui/#/runs/${run}/timeline?node=right`, '.panel-body'],
      ['run-timeline', `${standIn.url}/ui/#/runs/20261117-0300-k4m9/timeline`, '.timeline-canvas'],
      [
        'run-timeline-nodes',
        `${standIn.url}/ui/#/runs/20261117-0300-k4m9/timeline?rows=node&node=score%20012`,
        '.panel-body',
      ],
      ['run-graph', `${standIn.url}/ui/#/runs/20261117-0300-k4m9/graph?node=merge`, '.panel-body'],
      [
        'run-graph-large',
        `${standIn.url}/ui/#/runs/20261114-1800-large/graph`,
        '.graph-area canvas',
      ],
      [
        'run-nodes',
        `${standIn.url}/ui/#/runs/20261117-0300-k4m9/nodes?sort=took&down=1`,
        '.nodes-area tbody tr',
      ],
      [
        'run-past',
        `${standIn.url}/ui/#/runs/20261117-0300-k4m9/graph?at=5000`,
        '.graph-area canvas',
      ],
      ['run-what-if', `${standIn.url}/ui/#/runs/20261117-0300-k4m9/what-if`, '.change-bar'],
      ['run-log', `${served.url}/ui/#/runs/${run}/log`, '.log-tab .log'],
      ['run-compare', `${served.url}/ui/#/runs/${second}/compare?with=${first}`, '.tab-page'],
      ['jobs', `${served.url}/ui/#/jobs?job=square`, 'form'],
      ['load', `${busy.url}/ui/#/load`, '.chart canvas'],
      ['schedules', `${served.url}/ui/#/schedules`, 'tbody tr'],
      ['loop', `${served.url}/ui/#/loop`, '.figures'],
      ['boundaries', `${served.url}/ui/#/boundaries`, 'table.matrix'],
      ['fleet', `${served.url}/ui/#/fleet`, '.shards'],
      ['campaigns', `${served.url}/ui/#/campaigns`, 'tbody tr'],
      ['campaign', `${served.url}/ui/#/campaigns/${campaign}`, '.chart canvas'],
      ['people', `${served.url}/ui/#/people`, '.page .card'],
      ['audit', `${served.url}/ui/#/audit`, '.page'],
      ['link', `${served.url}/ui/#/link/0123456789`, '.entry'],
      ['login', `${locked.url}/ui/`, '.entry'],
      ['unknown', `${served.url}/ui/#/nowhere`, '.empty'],
    ]
    for (const [name, url, ready] of views) {
      const { page, context, problems } = await openPage(url, { theme })
      await page
        .locator(ready)
        .first()
        .waitFor()
        .catch(async (error: unknown) => {
          const text = await page.locator('body').innerText()
          throw new Error(`${name}: ${problems.join('; ')}\n${text}`, { cause: error })
        })
      await page.waitForLoadState('load')
      await page.evaluate(
        () => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))),
      )
      assert.deepEqual(await examine(page), [], `${name} (${theme})`)
      await page.screenshot({ path: path.join(pictures, `${name}-${theme}.png`) })
      const expected = problems.filter(
        (problem) => !(url.startsWith(standIn.url) && problem.includes('404')),
      )
      assert.deepEqual(expected, [], name)
      await context.close()
    }
    const phone = await openPage(`${served.url}/ui/#/runs/${run}/nodes`, {
      theme,
      width: 390,
      height: 780,
    })
    await phone.page.locator('tbody tr').first().waitFor()
    assert.deepEqual(await examine(phone.page), [], `phone (${theme})`)
    await phone.page.screenshot({ path: path.join(pictures, `phone-${theme}.png`) })
    const width = await phone.page.evaluate(() => document.documentElement.scrollWidth)
    assert.ok(width <= 390, `the page is ${width} pixels wide`)
    await phone.context.close()
    const { page, context, problems } = await openPage(`${locked.url}/ui/#/people`, { theme })
    await page.getByLabel('Name').fill('ada')
    await page.getByLabel('Password').fill('correct horse battery')
    await page.getByRole('button', { name: 'Log in' }).click()
    await page.locator('tbody tr', { hasText: 'ada' }).first().waitFor()
    assert.deepEqual(await examine(page), [], `people with users (${theme})`)
    await page.screenshot({ path: path.join(pictures, `people-users-${theme}.png`) })
    await page.getByRole('link', { name: 'Audit' }).click()
    await page.locator('tbody tr').first().waitFor()
    assert.deepEqual(await examine(page), [], `audit with actions (${theme})`)
    await page.screenshot({ path: path.join(pictures, `audit-actions-${theme}.png`) })
    assert.deepEqual(problems, [])
    await context.close()
    busy.gates.openAll()
    served.gates.open('right')
    served.gates.open('join')
  })
}

test('a job is submitted by its form, and its result is shown', async () => {
  await using served = await openServed()
  const { page, context, problems } = await openPage(`${served.url}/ui/#/jobs`)
  await page.getByRole('button', { name: 'square' }).click()
  await page.getByLabel('Input, as JSON').fill('12')
  await page.getByRole('button', { name: 'Submit' }).click()
  await page.getByText('"result": 144').waitFor()
  await page.getByLabel('Input, as JSON').fill('[1,')
  await page.getByRole('button', { name: 'Submit' }).click()
  await page.getByText('The field “Input, as JSON” is not JSON').waitFor()
  assert.deepEqual(problems, [])
  await context.close()
})
