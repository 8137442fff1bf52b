/**
 * Drawings on a canvas can be used: the timeline and the graph by mouse and by keyboard, and the log to its last line.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Locator, Page } from 'playwright-core'
import { openPage, tabTo } from './browser.ts'
import { openServed } from './served.ts'

/** The middle of an element, in pixels of the page. */
async function middleOf(element: Locator): Promise<{ x: number; y: number }> {
  const box = (await element.boundingBox())!
  return { x: box.x + box.width / 2, y: box.y + box.height / 2 }
}

function panelOf(page: Page, node: string): Locator {
  return page.getByRole('complementary', { name: `Node ${node}` })
}

test('timeline: an attempt is named under the pointer and selected by a click; arrow keys walk through them', async () => {
  await using served = await openServed()
  const run = await served.start('diamond')
  const { page, context, problems } = await openPage(`${served.url}/ui/#/runs/${run}`)
  const canvas = page.locator('.timeline-canvas')
  await page.locator('.timeline-label').first().waitFor()
  // One attempt runs from the start to now: it fills its row, which is the first.
  const { x } = await middleOf(canvas)
  const y = (await canvas.boundingBox())!.y + 12
  await page.mouse.move(x, y)
  await page.locator('.tip').getByText('fetch', { exact: true }).waitFor()
  await page.mouse.click(x, y)
  await panelOf(page, 'fetch').waitFor()
  assert.match(page.url(), /node=fetch/)
  for (const gate of ['fetch', 'left', 'right', 'join']) served.gates.open(gate)
  await page.locator('.run-head').getByText('succeeded', { exact: true }).waitFor()
  await page.keyboard.press('Escape')
  await page.getByRole('button', { name: 'Nodes', exact: true }).click()
  assert.match(page.url(), /rows=node/)
  await page.locator('.timeline-label').nth(3).waitFor()
  await page.locator('.timeline-scroll').focus()
  await page.keyboard.press('ArrowRight')
  await panelOf(page, 'fetch').waitFor()
  for (let i = 0; i < 3; i++) await page.keyboard.press('ArrowDown')
  await panelOf(page, 'join').waitFor()
  assert.deepEqual(problems, [])
  await context.close()
})

test('timeline: a drag moves the picture and selects nothing; a click at the same place selects', async () => {
  await using served = await openServed()
  const run = await served.start('diamond')
  const { page, context, problems } = await openPage(`${served.url}/ui/#/runs/${run}`)
  const canvas = page.locator('.timeline-canvas')
  await page.locator('.timeline-label').first().waitFor()
  await page.keyboard.press('+')
  const { x } = await middleOf(canvas)
  const y = (await canvas.boundingBox())!.y + 12
  await page.mouse.move(x, y)
  await page.mouse.down()
  await page.mouse.move(x + 90, y, { steps: 4 })
  await page.mouse.up()
  // What a click would have done is done by the time of the next key.
  await page.keyboard.press('0')
  assert.doesNotMatch(page.url(), /node=/)
  assert.equal(await page.getByRole('complementary').count(), 0)
  await page.mouse.click(x, y)
  await panelOf(page, 'fetch').waitFor()
  served.gates.openAll()
  await page.locator('.run-head').getByText('succeeded', { exact: true }).waitFor()
  assert.deepEqual(problems, [])
  await context.close()
})

test('graph: nodes are reached by arrow keys, selected by a click, and shown with their dependencies', async () => {
  await using served = await openServed()
  const run = await served.start('diamond')
  const { page, context, problems } = await openPage(`${served.url}/ui/#/runs/${run}/graph`)
  const area = page.locator('.graph-area[aria-busy=false]')
  await area.waitFor()
  const middle = await middleOf(area)
  await area.focus()
  await page.keyboard.press('ArrowRight')
  await panelOf(page, 'fetch').waitFor()
  await page.keyboard.press('ArrowRight')
  await panelOf(page, 'left').waitFor()
  await page.keyboard.press('ArrowDown')
  await panelOf(page, 'right').waitFor()
  await page.keyboard.press('Escape')
  await page.getByRole('complementary').waitFor({ state: 'detached' })

  // Without the panel the view is as wide as before: a node that is brought into its middle is clicked there.
  await page.keyboard.press('/')
  await page.keyboard.type('join')
  await page.getByRole('option', { name: 'join' }).waitFor()
  await page.keyboard.press('Enter')
  await panelOf(page, 'join').waitFor()
  await page.keyboard.press('s')
  const shown = await middleOf(area)
  await page.keyboard.press('Escape')
  await page.getByRole('complementary').waitFor({ state: 'detached' })
  await page.mouse.click(shown.x, shown.y)
  await panelOf(page, 'join').waitFor()
  assert.ok(shown.x < middle.x)
  await page.getByRole('button', { name: 'Leads to it' }).click()
  assert.match(page.url(), /focus=upstream/)
  await page.getByRole('button', { name: 'Follow what runs' }).click()
  assert.match(page.url(), /follow=1/)
  await page.keyboard.press('v')
  assert.doesNotMatch(page.url(), /follow=1/)
  for (const gate of ['fetch', 'left', 'right', 'join']) served.gates.open(gate)
  await page.locator('.run-head').getByText('succeeded', { exact: true }).waitFor()
  assert.deepEqual(problems, [])
  await context.close()
})

test('graph: above 300 nodes similar nodes are one group, which opens and is folded again by keyboard', async () => {
  await using served = await openServed()
  const run = await served.start('season')
  const { page, context, problems } = await openPage(`${served.url}/ui/#/runs/${run}/graph`)
  const area = page.locator('.graph-area[aria-busy=false]')
  await area.waitFor()
  await page.getByText('1,002 nodes in 6 groups').waitFor()
  await area.focus()
  await page.keyboard.press('ArrowRight')
  await page.getByRole('complementary').waitFor()
  await page.keyboard.press('Enter')
  // The first group has 250 nodes.
  // The panel takes its room: it is there for screen readers.
  await page.getByText('1,002 nodes in 255 groups').waitFor({ state: 'attached' })
  await page.getByRole('button', { name: 'Fold again' }).focus()
  await page.keyboard.press('Enter')
  await page.getByText('1,002 nodes in 6 groups').waitFor({ state: 'attached' })
  await page.locator('.run-head').getByText('succeeded', { exact: true }).waitFor()
  assert.deepEqual(problems, [])
  await context.close()
})

test('the moment of a run is chosen on the slider by mouse', async () => {
  await using served = await openServed()
  const run = await served.start('diamond')
  const { page, context, problems } = await openPage(`${served.url}/ui/#/runs/${run}/nodes`)
  await page.locator('tbody').getByText('running').waitFor()
  for (const gate of ['fetch', 'left', 'right', 'join']) served.gates.open(gate)
  await page.locator('.run-head').getByText('succeeded', { exact: true }).waitFor()
  await page.getByText('Complete').waitFor()
  const slider = page.getByRole('slider', { name: 'Moment of the run' })
  const box = (await slider.boundingBox())!
  const y = box.y + box.height / 2
  await page.mouse.move(box.x + box.width - 8, y)
  await page.mouse.down()
  await page.mouse.move(box.x + 2, y, { steps: 5 })
  await page.mouse.up()
  await page.locator('tbody').getByText('waiting').first().waitFor()
  assert.match(page.url(), /at=\d/)
  await page.mouse.click(box.x + box.width - 2, y)
  await page.locator('tbody').getByText('succeeded').nth(3).waitFor()
  assert.doesNotMatch(page.url(), /at=/)
  assert.deepEqual(problems, [])
  await context.close()
})

test('the log of a run that is watched has its last line when the run has ended, and is searched', async () => {
  await using served = await openServed()
  const run = await served.start('diamond')
  for (const gate of ['fetch', 'left', 'right']) served.gates.open(gate)
  const { page, context, problems } = await openPage(`${served.url}/ui/#/runs/${run}/log`)
  const log = page.getByLabel('Log of the run')
  await log.getByText('join <script>alert(1)</script> waits for its gate').waitFor()
  served.gates.open('join')
  await page.locator('.run-head').getByText('succeeded', { exact: true }).waitFor()
  await log.getByText('join is through').waitFor()
  await page.getByLabel('Search the log').focus()
  await page.keyboard.type('is through')
  await log.getByText('waits for its gate').first().waitFor({ state: 'detached' })
  await log.getByText('is through').nth(3).waitFor()
  assert.equal(await log.getByText('is through').count(), 4)
  assert.match(page.url(), /log=is/)
  await tabTo(page, 'Copy the lines')
  assert.deepEqual(problems, [])
  await context.close()
})
