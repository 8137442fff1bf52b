/** Runs as large as those of the bench open, and every view of them can be used. How long that takes is measured there. */
import { test } from 'node:test'
import { makeRun } from '../stand-in/made-run.ts'
import { serveMade } from '../stand-in/stand-in.ts'
import { openPage } from './browser.ts'

test('a run of 10,002 nodes: timeline, graph, table and a node in the middle of it', async () => {
  const run = makeRun({ id: 'large', title: 'large.ts', items: 2_500, startedAt: 1e12, lanes: 40 })
  await using served = await serveMade([run])
  const { page, context } = await openPage(`${served.url}/ui/#/runs/large`)
  await page.locator('.timeline-label').nth(10).waitFor()
  await page.locator('.run-head').getByText('10,002/10,002').waitFor()
  const axis = page.locator('.timeline-axis')
  const whole = await axis.innerText()
  await page.keyboard.press('+')
  await page.locator('.timeline-axis', { hasNotText: whole.split('\n')[0]! }).waitFor()
  await page.keyboard.press('2')
  await page.locator('.graph-area[aria-busy=false]').waitFor()
  await page.getByText('10,002 nodes in 6 groups').waitFor()
  await page.keyboard.press('3')
  // Its keys are bound once the table is there: before that, f and typed text belong to the graph.
  await page.locator('#node-search').waitFor()
  await page.keyboard.press('f')
  await page.keyboard.type('score 1250')
  await page.getByRole('button', { name: 'score 1250', exact: true }).click()
  await page.getByRole('complementary', { name: 'Node score 1250' }).getByText('"score"').waitFor()
  await context.close()
})
