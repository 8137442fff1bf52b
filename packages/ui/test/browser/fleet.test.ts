/** Workers and campaigns: their work is shown, and a campaign is steered, by mouse and by keyboard. */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'
import { deliver } from '../../../server/test/ui/deliver.ts'
import { openPage, pressBoth } from './browser.ts'
import { openServed, startCampaign } from './served.ts'

const even = (units: number): number[] => {
  const quarter = Math.floor(units / 4)
  return [quarter, units - 2 * quarter, quarter]
}

test('workers are listed with their leases and the reason why they get nothing; a campaign shows its test and is excluded from', async () => {
  await using served = await openServed()
  const { url } = served
  const campaign = await startCampaign(url, { name: 'patch 12' })
  await deliver({ url, name: 'loom', job: 'match', leases: 4, result: even })
  await deliver({ url, name: 'shuttle', job: 'match', leases: 2, result: even, keepsLast: true })
  await deliver({ url, name: 'stray', job: 'other', leases: 1, result: even })
  const { page, context, problems } = await openPage(`${url}/ui/#/fleet`)
  const row = (name: string) => page.locator('tbody tr', { hasText: name })
  await row('shuttle').getByText('working').waitFor()
  await row('loom').getByText('idle').waitFor()
  const { workers } = (await (await fetch(`${url}/fleet/workers`)).json()) as {
    workers: { name: string; why_idle?: string }[]
  }
  const why = workers.find(({ name }) => name === 'stray')?.why_idle
  assert.ok(why !== undefined)
  await row('stray').getByText(why).waitFor()
  await page.getByText('256 shards').waitFor()

  await page.getByRole('link', { name: 'Campaigns' }).click()
  await page.getByRole('link', { name: 'patch 12' }).click()
  await page.getByText('Test of Elo 0 against 10').waitFor()
  await page.locator('.chart canvas').waitFor()
  assert.match(page.url(), new RegExp(`#/campaigns/${campaign}`))
  await page.getByRole('button', { name: 'Exclude lease' }).first().click()
  const dialog = page.getByRole('dialog', { name: 'Exclude this lease?' })
  await dialog.getByLabel('Reason').fill('wrong hardware')
  await dialog.getByRole('button', { name: 'Exclude the lease' }).click()
  await page.getByText('excluded: wrong hardware').waitFor()
  assert.deepEqual(problems, [])
  await context.close()
})

test('the files that leases of a campaign have left are listed with it, and downloaded', async () => {
  await using served = await openServed()
  const { url } = served
  const campaign = await startCampaign(url, { name: 'patch 14' })
  const kept = { url, name: 'loom', job: 'match', leases: 1, result: even, keepsLast: true }
  const [lease] = await deliver(kept)
  const bytes = '1. e4 e5 1/2-1/2\n'
  const query = new URLSearchParams({
    epoch: '1',
    worker: 'loom-process',
    name: 'games.pgn',
    length: String(bytes.length),
    sha256: createHash('sha256').update(bytes).digest('hex'),
  })
  const type = { 'content-type': 'application/octet-stream' }
  const sent = await fetch(`${url}/fleet/artifacts/${lease}?${query}`, {
    method: 'PUT',
    headers: type,
    body: bytes,
  })
  assert.equal(sent.status, 201, await sent.text())
  const { page, context, problems } = await openPage(`${url}/ui/#/campaigns/${campaign}`)
  const card = page.locator('section.card', { hasText: '1 artifact, 17 B' })
  const file = card.getByRole('link', { name: 'games.pgn' })
  const [download] = await Promise.all([page.waitForEvent('download'), file.click()])
  assert.equal(await readFile(await download.path(), 'utf8'), bytes)
  const archive = card.getByRole('link', { name: 'All as tar' })
  assert.match((await archive.getAttribute('href')) ?? '', new RegExp(`/archives/${campaign}$`))
  assert.deepEqual(problems, [])
  await context.close()
})

test('a campaign that does not exist is said to be missing, and the connection is not said to be lost', async () => {
  await using served = await openServed()
  const { page, context } = await openPage(`${served.url}/ui/#/campaigns/none`)
  await page.getByText('There is no such campaign').waitFor()
  await page.locator('.live').waitFor({ state: 'detached' })
  await context.close()
})

test('a campaign is paused, resumed and stopped by keyboard only', async () => {
  await using served = await openServed()
  await startCampaign(served.url, { name: 'patch 13' })
  const { page, context, problems } = await openPage(`${served.url}/ui/`)
  await page.getByRole('heading', { name: 'Runs', exact: true }).waitFor()
  await pressBoth(page, 'g', 'c', page.getByRole('heading', { name: 'Campaigns', exact: true }))
  const open = page.getByRole('link', { name: 'patch 13' })
  await open.focus()
  await page.keyboard.press('Enter')
  await page.getByRole('button', { name: 'Pause', exact: true }).waitFor()
  await page.keyboard.press('p')
  await page.getByRole('dialog', { name: 'Pause this campaign?' }).waitFor()
  await page.keyboard.press('Enter')
  await page.getByRole('button', { name: 'Resume', exact: true }).waitFor()
  // The page may show the new state before the dialog has its answer, and keys belong to a dialog while it is open.
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  await page.keyboard.press('p')
  await page.getByRole('dialog', { name: 'Resume this campaign?' }).waitFor()
  await page.keyboard.press('Enter')
  await page.getByRole('button', { name: 'Pause', exact: true }).waitFor()
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  await page.keyboard.press('q')
  await page.getByRole('dialog', { name: 'Stop this campaign?' }).waitFor()
  await page.keyboard.press('Enter')
  await page.locator('.page-head .state').getByText('stopped').waitFor()
  assert.deepEqual(problems, [])
  await context.close()
})
