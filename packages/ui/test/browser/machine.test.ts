/** The view of a server under load: the longest waits, refusals with retry times, slow requests. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openPage } from './browser.ts'
import { openServed } from './served.ts'

test('overload: the oldest that waits, refusals with their Retry-After, the level over time, and then the slowest', async () => {
  // Two seats, one of which runs: the third request is refused.
  const limits = { loop: 1, prepareCapacity: 2, queue: 3_600_000 }
  await using served = await openServed({ limits })
  const submit = (gate: string): Promise<Response> =>
    fetch(`${served.url}/jobs/hold`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(gate),
    })
  const answers: Response[] = []
  for (const gate of ['a', 'b', 'c', 'd']) answers.push(await submit(gate))
  const refused = answers.find(({ status }) => status === 503)
  assert.ok(refused, answers.map(({ status }) => status).join())
  const taken = answers.filter(({ status }) => status === 202)
  const { page, context, problems } = await openPage(`${served.url}/ui/#/load`)
  const work = page.locator('section', { hasText: 'Queued, running and set aside' }).last()
  await work.locator('tbody tr').first().getByText('hold').waitFor()
  if (taken.length > 1) {
    await page.locator('.figure', { hasText: 'Oldest waiting' }).getByText('hold').waitFor()
  }
  const refusals = page.locator('section.card', { hasText: 'Last refusals' })
  const row = refusals.locator('tbody tr').first()
  await row.getByText('POST /jobs/:name').waitFor()
  await row.getByText(`${refused.headers.get('retry-after')} s`, { exact: true }).waitFor()
  // A sample that was taken while it was full.
  await page.locator('.levels .legend-entry', { hasText: 'full' }).waitFor()
  for (const gate of ['a', 'b', 'c', 'd']) served.gates.open(gate)
  const slowest = page.locator('section.card', { hasText: 'Slowest' })
  await slowest.locator('tbody tr').first().getByText('hold').waitFor()
  await work.getByText('Nothing is queued or running.').waitFor()
  assert.deepEqual(problems, [])
  await context.close()
})

test('a job that holds the loop is named on the page of the loop and in the timeline of its run', async () => {
  await using served = await openServed()
  const run = await served.start('nightly', { args: { stations: 1 } })
  const { page, context, problems } = await openPage(`${served.url}/ui/#/loop`)
  await page.locator('tbody tr', { hasText: 'job "merge"' }).first().waitFor()
  await page.goto(`${served.url}/ui/#/runs/${run}`)
  await page.locator('.loop-strip i[title*="merge"]').first().waitFor({ state: 'attached' })
  await page.locator('.run-head').getByText('succeeded', { exact: true }).waitFor()
  assert.deepEqual(problems, [])
  await context.close()
})

test('boundaries without an inventory: the page says how to make it', async () => {
  await using served = await openServed()
  const { page, context, problems } = await openPage(`${served.url}/ui/#/boundaries`)
  await page.getByText('No inventory is named').waitFor()
  await page.getByText('npx heddle analyze --inventory --json src/ > inventory.json').waitFor()
  await page.getByText('npx heddle serve --inventory inventory.json').waitFor()
  assert.deepEqual(problems, [])
  await context.close()
})

test('a draining server shows the remaining work, on the page of its load, until it is done', async () => {
  await using served = await openServed()
  const headers = { 'content-type': 'application/json' }
  await fetch(`${served.url}/jobs/hold`, { method: 'POST', headers, body: '"slow"' })
  const { page, context, problems } = await openPage(`${served.url}/ui/#/load`)
  await page.locator('tbody tr').getByText('hold').first().waitFor()
  const drained = fetch(`${served.url}/drain`, { method: 'POST', headers, body: '{}' })
  await page.getByText('Draining: 1 computation').waitFor()
  served.gates.open('slow')
  await (await drained).text()
  assert.deepEqual(problems, [])
  await context.close()
})
