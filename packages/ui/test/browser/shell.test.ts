/** The frame around every view: the menu of a phone, the name of the view, what is shown while the server does not answer. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { test } from 'node:test'
import { openPage } from './browser.ts'
import { openServed } from './served.ts'

test('on a phone the menu is closed by a tap beside it and by Escape, and the focus is where it was', async () => {
  await using served = await openServed()
  const { page, context, problems } = await openPage(`${served.url}/ui/`, {
    width: 390,
    height: 780,
  })
  await page.getByRole('heading', { name: 'Runs', exact: true }).waitFor()
  const button = page.getByRole('button', { name: 'Menu', exact: true })
  const entry = page.getByRole('link', { name: 'Schedules' })
  await button.click()
  await entry.waitFor()
  await page.mouse.click(360, 400)
  await entry.waitFor({ state: 'hidden' })
  await button.click()
  await entry.waitFor()
  await page.keyboard.press('Escape')
  await entry.waitFor({ state: 'hidden' })
  const focused = page.locator(':focus')
  assert.equal(await focused.getAttribute('aria-label'), 'Menu')
  await page.keyboard.press('Enter')
  await entry.waitFor()
  // The focus is in the menu: the next entry is one key away.
  await page.keyboard.press('Tab')
  assert.equal((await focused.innerText()).trim(), 'Jobs')
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'Jobs', exact: true }).waitFor()
  await entry.waitFor({ state: 'hidden' })
  assert.deepEqual(problems, [])
  await context.close()
})

test('the title of the tab and a live region name the view that is shown, also on the way back, and how a run ends', async () => {
  await using served = await openServed()
  const run = await served.start('diamond')
  const { page, context, problems } = await openPage(`${served.url}/ui/`)
  await page.getByRole('link', { name: 'diamond.ts' }).click()
  await page.locator('.run-head').getByText('running', { exact: true }).waitFor()
  assert.equal(await page.title(), 'diamond.ts · running · Heddle')
  const said = page.getByRole('status')
  served.gates.openAll()
  await said.getByText('diamond.ts · succeeded').waitFor({ state: 'attached' })
  await page.getByRole('link', { name: 'Runs' }).first().click()
  await page.getByRole('row').getByText(run.slice(-4)).waitFor()
  assert.equal(await page.title(), 'Runs · Heddle')
  assert.deepEqual(problems, [])
  await context.close()
})

test('a run is found from wherever the palette is opened', async () => {
  await using served = await openServed()
  await served.start('leaving', { title: 'the needle' })
  const { page, context, problems } = await openPage(`${served.url}/ui/#/schedules`)
  await page.getByRole('heading', { name: 'Schedules', exact: true }).waitFor()
  await page.keyboard.press('/')
  await page.keyboard.type('needle')
  await page.getByRole('option', { name: /^the needle/ }).click()
  await page.getByRole('heading', { name: 'the needle' }).waitFor()
  assert.deepEqual(problems, [])
  await context.close()
})

test('the palette that is opened right after a dialog was closed stays open', async () => {
  await using served = await openServed()
  const { page, context, problems } = await openPage(`${served.url}/ui/`)
  await page.getByRole('heading', { name: 'Runs', exact: true }).waitFor()
  await page.keyboard.press('?')
  await page.getByRole('dialog', { name: 'Keys' }).waitFor()
  // The browser reports the end of the closed dialog a task later: until then both keys have been handled.
  const isOpen = await page.evaluate(async () => {
    const settled = async () => {
      for (let turn = 0; turn < 20; turn++) await Promise.resolve()
    }
    const keys = document.querySelector('dialog')!
    const { promise: closed, resolve } = Promise.withResolvers<unknown>()
    keys.addEventListener('close', resolve)
    keys.dispatchEvent(new Event('cancel', { cancelable: true }))
    await settled()
    document.body.dispatchEvent(new KeyboardEvent('keydown', { key: '/', bubbles: true }))
    await settled()
    await closed
    await settled()
    return document.querySelector('dialog.palette') !== null
  })
  assert.equal(isOpen, true)
  assert.deepEqual(problems, [])
  await context.close()
})

test('on a machine whose clock is wrong ages are those of the server', async () => {
  await using served = await openServed()
  await served.start('diamond')
  const { page, context, problems } = await openPage(`${served.url}/ui/`)
  await page.clock.install({ time: new Date(Date.now() + 7_200_000) })
  await page.reload()
  const row = page.getByRole('row', { name: /diamond\.ts/ })
  await row.waitFor()
  const text = await row.innerText()
  assert.doesNotMatch(text, /\d (?:h|min)\b/, text)
  served.gates.openAll()
  await row.getByText('succeeded').waitFor()
  assert.deepEqual(problems, [])
  await context.close()
})

test('while a server takes long to answer the page says so', async () => {
  await using served = await openServed()
  const { page, context } = await openPage(`${served.url}/ui/#/runs`)
  await page.getByRole('heading', { name: 'Runs', exact: true }).waitFor()
  await page.route('**/schedules', () => {
    // Never answered.
  })
  await page.getByRole('link', { name: 'Schedules' }).click()
  await page.getByText('The server has not answered yet.').waitFor()
  await context.close()
})

test('pages that ask once are filled when the server is back, without a click', async (t) => {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'heddle-ui-once-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const store = `sqlite:${path.join(folder, 'serve.db')}`
  const before = await openServed({ store })
  const { port } = before.server
  const run = await before.start('shaky')
  const { page, context } = await openPage(`${before.url}/ui/#/audit`)
  await page.locator('tbody tr').first().waitFor()
  await page.getByRole('link', { name: 'Jobs' }).click()
  await page.getByRole('button', { name: 'forecast' }).waitFor()
  await page.goto(`${before.url}/ui/#/runs/${run}/log?node=broken`)
  const panel = page.getByRole('complementary', { name: 'Node broken' })
  await panel.getByText('2 attempts').waitFor()
  await page.locator('.run-head').getByText('failed', { exact: true }).waitFor()
  await before[Symbol.asyncDispose]()

  const away = page.getByRole('alert').getByText('The view is filled as soon as it answers.')
  await page.getByRole('link', { name: 'Jobs' }).click()
  await away.waitFor()
  {
    await using _after = await openServed({ store, port })
    await page.getByRole('button', { name: 'forecast' }).waitFor()
    await away.waitFor({ state: 'detached' })
  }
  await page.getByRole('link', { name: 'Audit' }).click()
  await away.waitFor()
  await using _again = await openServed({ store, port })
  await page.locator('tbody tr').first().waitFor()
  await away.waitFor({ state: 'detached' })
  await context.close()
})
