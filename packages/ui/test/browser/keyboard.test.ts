/** What the other files do by mouse, by keyboard only: no click, no field that is filled from outside. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { until } from '../../../core/test/kernel/until.ts'
import { openPage, pressBoth, tabTo } from './browser.ts'
import { openServed } from './served.ts'

test('by keyboard only: a run is paused, resumed, viewed in the past and compared', async () => {
  await using served = await openServed()
  const first = await served.start('leaving')
  await served.start('diamond')
  const { page, context, problems } = await openPage(`${served.url}/ui/`)
  await page.getByRole('link', { name: 'diamond.ts' }).waitFor()
  // The newest run is the first of the list.
  await page.keyboard.press('o')
  const head = page.locator('.run-head')
  await head.getByText('running', { exact: true }).waitFor()
  await page.keyboard.press('3')
  const row = (name: string) =>
    page.locator('tbody tr', { has: page.getByRole('button', { name, exact: true }) })
  await row('fetch').getByText('running').waitFor()
  await page.keyboard.press('p')
  await page.getByRole('dialog', { name: 'Pause this run?' }).waitFor()
  await page.keyboard.press('Enter')
  await head.getByText('paused', { exact: true }).waitFor()
  // A server without users knows no caller by name, but says from where it came.
  await head.getByText('Paused by').waitFor()
  served.gates.open('fetch')
  await row('fetch').getByText('succeeded').waitFor()
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  await page.keyboard.press('p')
  await page.getByRole('dialog', { name: 'Resume this run?' }).waitFor()
  await page.keyboard.press('Enter')
  await row('left').getByText('running').waitFor()
  for (const gate of ['left', 'right', 'join']) served.gates.open(gate)
  await head.getByText('succeeded', { exact: true }).waitFor()
  await page.getByText('Complete').waitFor()

  await page.getByRole('dialog').waitFor({ state: 'detached' })
  for (let i = 0; i < 100; i++) await page.keyboard.press('[')
  await row('join').getByText('waiting').waitFor()
  const early = page.url()
  assert.match(early, /at=\d/)
  await page.keyboard.press(']')
  assert.notEqual(page.url(), early)
  await page.keyboard.press('=')
  await row('join').getByText('succeeded').waitFor()

  await page.keyboard.press('5')
  await page.getByText('Compare with which run?').waitFor()
  // Part of another title: the box is checked with the space bar.
  for (let i = 0; i < 40; i++) {
    await page.keyboard.press('Tab')
    if (await page.evaluate(() => (document.activeElement as HTMLInputElement).type === 'checkbox'))
      break
  }
  await page.keyboard.press('Space')
  const other = page.getByRole('button', { name: /^leaving\.ts/ })
  await other.waitFor()
  await tabTo(page, (await other.innerText()).replaceAll(/\s+/g, ' ').trim())
  await page.keyboard.press('Enter')
  await page.getByText('Changes of the graph').waitFor()
  assert.match(page.url(), new RegExp(`with=${first}`))
  assert.deepEqual(problems, [])
  await context.close()
})

test('by keyboard only: into the panel of a node and to a neighbour; the focus is where it was when the panel is closed', async () => {
  await using served = await openServed()
  const run = await served.start('diamond')
  const { page, context, problems } = await openPage(`${served.url}/ui/#/runs/${run}/nodes`)
  const focused = (selector: string): Promise<boolean> =>
    page.evaluate((wanted) => document.activeElement?.matches(wanted) ?? false, selector)
  await page.getByRole('button', { name: 'left', exact: true }).waitFor()
  await page.keyboard.press('j')
  await page.keyboard.press('j')
  const panel = (node: string) => page.getByRole('complementary', { name: `Node ${node}` })
  await panel('left').getByText('Depends on').waitFor()
  await page.keyboard.press('o')
  assert.ok(await focused('.panel'))
  await tabTo(page, 'fetch')
  await page.keyboard.press('Enter')
  await panel('fetch').waitFor()
  assert.ok(await focused('.panel'), 'the panel of the neighbour has the focus')
  await page.keyboard.press('Tab')
  await page.keyboard.press('Escape')
  await page.getByRole('complementary').waitFor({ state: 'detached' })
  assert.ok(await focused('.nodes-area'))
  served.gates.openAll()
  await page.locator('.run-head').getByText('succeeded', { exact: true }).waitFor()
  assert.deepEqual(problems, [])
  await context.close()
})

test('by keyboard only: a job is found, its form is filled in, and its result is shown', async () => {
  await using served = await openServed()
  const { page, context, problems } = await openPage(`${served.url}/ui/`)
  await page.getByRole('heading', { name: 'Runs', exact: true }).waitFor()
  await pressBoth(page, 'g', 'j', page.getByRole('heading', { name: 'Jobs', exact: true }))
  await page.getByRole('button', { name: 'forecast' }).waitFor()
  await tabTo(page, 'forecast')
  await page.keyboard.press('Enter')
  await page.getByLabel('Station').waitFor()
  await tabTo(page, 'Station *')
  await page.keyboard.type('Riga')
  await tabTo(page, 'Days')
  await page.keyboard.type('2')
  await tabTo(page, 'Unit')
  await page.keyboard.press('F')
  await tabTo(page, 'Submit')
  await page.keyboard.press('Enter')
  const result = page.getByLabel('Result', { exact: true })
  await result.getByText('"unit": "F"').waitFor()
  assert.match(await result.innerText(), /"station": "Riga"/)
  assert.deepEqual(problems, [])
  await context.close()
})

test('by keyboard only: the theme, the live updates and the panel of keys', async () => {
  await using served = await openServed()
  const run = await served.start('diamond')
  const { page, context, problems } = await openPage(`${served.url}/ui/#/runs/${run}/nodes`)
  const row = page.locator('tbody tr', {
    has: page.getByRole('button', { name: 'fetch', exact: true }),
  })
  await row.getByText('running').waitFor()
  await page.keyboard.press('u')
  await page.locator('.live', { hasText: 'Paused' }).waitFor()
  served.gates.open('fetch')
  await until(async () => {
    const answer = await fetch(`${served.url}/runs/${run}/nodes/fetch`)
    const { state } = (await answer.json()) as { state: string }
    return state === 'succeeded'
  })
  assert.equal(await row.getByText('running').count(), 1)
  await page.keyboard.press('u')
  await row.getByText('succeeded').waitFor()

  const themeOf = (): Promise<string | undefined> =>
    page.evaluate(() => document.documentElement.dataset['theme'])
  assert.equal(await themeOf(), 'light')
  // System, then light, then dark.
  await page.keyboard.press('t')
  await page.keyboard.press('t')
  assert.equal(await themeOf(), 'dark')
  await page.reload()
  await row.waitFor()
  assert.equal(await themeOf(), 'dark')
  await page.keyboard.press('?')
  const keys = page.getByRole('dialog', { name: 'Keys' })
  await keys.getByText('Pause or resume live updates').waitFor()
  await page.keyboard.press('Escape')
  await keys.waitFor({ state: 'detached' })
  for (const gate of ['left', 'right', 'join']) served.gates.open(gate)
  await page.locator('.run-head').getByText('succeeded', { exact: true }).waitFor()
  assert.deepEqual(problems, [])
  await context.close()
})
