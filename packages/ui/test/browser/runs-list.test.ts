/** The list of runs: pages, filters and search in the address, the actions for all matching runs, and its size. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openPage } from './browser.ts'
import { openServed } from './served.ts'

test('more than a page of runs: the rest is loaded on demand, and a search is in the address', async () => {
  await using served = await openServed()
  for (let i = 0; i < 56; i++) await served.start('leaving', { title: `leaving ${i}` })
  await served.start('leaving', { title: 'the needle' })
  const { page, context, problems } = await openPage(`${served.url}/ui/`)
  const rows = page.locator('tbody tr')
  await page.locator('.page-head').getByText('57 runs').waitFor()
  assert.equal(await rows.count(), 50)
  await page.getByRole('button', { name: 'Load more' }).click()
  await rows.nth(56).waitFor()
  assert.equal(await rows.count(), 57)
  assert.equal(await page.getByRole('button', { name: 'Load more' }).count(), 0)

  await page.keyboard.press('f')
  await page.keyboard.type('needle')
  await rows.nth(1).waitFor({ state: 'detached' })
  await rows.getByText('the needle').waitFor()
  assert.match(page.url(), /q=needle/)
  await page.reload()
  await rows.getByText('the needle').waitFor()
  assert.equal(await page.getByLabel('Search in titles, keys and ids').inputValue(), 'needle')
  await page.getByRole('link', { name: /^Failed/ }).click()
  await page.getByText('No run matches the filter').waitFor()
  assert.match(page.url(), /state=failed/)
  await page.getByRole('link', { name: 'Show all runs' }).click()
  await rows.nth(49).waitFor()
  assert.deepEqual(problems, [])
  await context.close()
})

test('all matching failed runs are resumed at once, and so is a single selected run', async () => {
  await using served = await openServed()
  for (const title of ['first', 'second']) await served.start('mended', { title })
  const { page, context, problems } = await openPage(`${served.url}/ui/#/runs?state=failed`)
  const rows = page.locator('tbody tr')
  await rows.nth(1).waitFor()
  await page.getByLabel(/^Select second/).check()
  await page.getByRole('button', { name: 'Resume', exact: true }).click()
  const one = page.getByRole('dialog', { name: 'Resume 1 run?' })
  await one.getByText('Only what did not succeed runs again: second.').waitFor()
  await one.getByRole('button', { name: 'Keep as it is' }).click()
  served.gates.open('mended')
  await page.getByRole('button', { name: 'Resume all that match' }).click()
  await page
    .getByRole('dialog', { name: 'Resume all runs that match the filter?' })
    .getByRole('button', { name: 'Resume all of them' })
    .click()
  await page.getByText('Resumed 2 runs.').waitFor()
  await page.goto(`${served.url}/ui/#/runs?state=succeeded`)
  await rows.nth(1).waitFor()
  assert.deepEqual(problems, [])
  await context.close()
})

test('what is typed into a search is not lost while runs change, nor taken along to another view', async () => {
  await using served = await openServed()
  await served.start('leaving', { title: 'the needle' })
  const { page, context, problems } = await openPage(`${served.url}/ui/`)
  await page.getByRole('link', { name: 'the needle' }).waitFor()
  // Timers stand still: what is typed is not handed over yet.
  await page.clock.install()
  await page.clock.pauseAt(new Date(Date.now() + 60_000))
  const field = page.getByLabel('Search in titles, keys and ids')
  await field.focus()
  await page.keyboard.type('nee')
  for (const title of ['first', 'second']) {
    await served.start('leaving', { title })
    await page.getByRole('link', { name: title }).waitFor()
  }
  assert.equal(await field.inputValue(), 'nee')
  await page.keyboard.type('dle')
  assert.equal(await field.inputValue(), 'needle')
  await page.clock.runFor(1_000)
  await page.getByRole('link', { name: 'second' }).waitFor({ state: 'detached' })
  assert.match(page.url(), /q=needle/)
  await field.fill('')
  await page.keyboard.type('lost')
  await page.getByRole('link', { name: 'Schedules' }).click()
  await page.getByRole('heading', { name: 'Schedules', exact: true }).waitFor()
  await page.clock.runFor(1_000)
  assert.equal(new URL(page.url()).hash, '#/schedules')
  assert.deepEqual(problems, [])
  await context.close()
})

test('the first page transfers at most 80,000 bytes of files', async () => {
  await using served = await openServed()
  await served.start('leaving')
  const { page, context, problems } = await openPage(`${served.url}/ui/`)
  await page.getByRole('link', { name: 'leaving.ts' }).waitFor()
  const fetched = await page.evaluate(() => {
    const entries = [
      ...performance.getEntriesByType('navigation'),
      ...performance.getEntriesByType('resource'),
    ] as PerformanceResourceTiming[]
    return entries
      .filter(({ name }) => new URL(name).pathname.startsWith('/ui/'))
      .map(({ name, encodedBodySize }) => [new URL(name).pathname, encodedBodySize] as const)
  })
  const bytes = fetched.reduce((sum, [, size]) => sum + size, 0)
  assert.ok(bytes > 10_000 && bytes <= 80_000, JSON.stringify(fetched))
  assert.deepEqual(problems, [])
  await context.close()
})
