import assert from 'node:assert/strict'
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { test } from 'node:test'
import { openPage } from './browser.ts'
import { Gates, openServed, startCampaign } from './served.ts'

test('a run is watched live: states, a node with its log, pause, resume and the end, by mouse', async () => {
  await using served = await openServed()
  const run = await served.start('diamond')
  const { page, context, problems } = await openPage(`${served.url}/ui/`)
  await page.getByRole('link', { name: 'diamond.ts' }).click()
  await page.getByRole('link', { name: 'Nodes', exact: true }).click()
  const row = (name: string) =>
    page.locator('tbody tr', { has: page.getByRole('button', { name, exact: true }) })
  await row('fetch').getByText('running').waitFor()
  await row('fetch').click()
  const panel = page.getByRole('complementary', { name: 'Node fetch' })
  // Output of jobs is text, whatever it looks like.
  await panel.getByText('fetch <script>alert(1)</script> waits for its gate').waitFor()

  await page.getByRole('button', { name: 'Pause', exact: true }).click()
  const dialog = page.getByRole('dialog', { name: 'Pause this run?' })
  await dialog.getByText('1 attempt under way will finish. 3 nodes will not start').waitFor()
  await dialog.getByRole('button', { name: 'Pause' }).click()
  await page.locator('.run-head').getByText('paused', { exact: true }).waitFor()
  served.gates.open('fetch')
  await row('fetch').getByText('succeeded').waitFor()
  await panel.getByText('"done": "fetch"').waitFor()
  assert.equal(await row('left').getByText('running').count(), 0)

  await page.getByRole('button', { name: 'Resume', exact: true }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Resume' }).click()
  await row('left').getByText('running').waitFor()
  for (const gate of ['left', 'right', 'join']) served.gates.open(gate)
  await page.locator('.run-head').getByText('succeeded', { exact: true }).waitFor()
  await page.getByText('Complete').waitFor()
  assert.deepEqual(problems, [])
  assert.match(page.url(), new RegExp(`#/runs/${run}/nodes\\?node=fetch`))
  await context.close()
})

test('the same by keyboard only: find the run, open a node, cancel', async () => {
  await using served = await openServed()
  await served.start('diamond')
  const { page, context, problems } = await openPage(`${served.url}/ui/`)
  await page.getByRole('link', { name: 'diamond.ts' }).waitFor()
  await page.keyboard.press('/')
  await page.getByRole('combobox').fill('diamond')
  await page.getByRole('option', { name: /diamond\.ts/ }).waitFor()
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'diamond.ts' }).waitFor()
  await page.keyboard.press('3')
  await page.getByRole('button', { name: 'fetch', exact: true }).waitFor()
  await page.keyboard.press('j')
  await page.getByRole('complementary', { name: 'Node fetch' }).waitFor()
  await page.keyboard.press('Escape')
  await page.getByRole('complementary').waitFor({ state: 'detached' })
  await page.keyboard.press('?')
  await page.getByRole('dialog', { name: 'Keys' }).getByText('Cancel the run').waitFor()
  await page.keyboard.press('Escape')
  // Keys belong to a dialog while it is open.
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  await page.keyboard.press('q')
  await page.getByRole('dialog', { name: 'Cancel this run?' }).waitFor()
  await page.keyboard.press('Enter')
  // Before the server has taken the cancel, a finished fetch would start its dependents, and that never ends.
  await page.getByText('The run is being cancelled.').waitFor()
  served.gates.open('fetch')
  await page.locator('.run-head').getByText('cancelled', { exact: true }).waitFor()
  assert.deepEqual(problems, [])
  await context.close()
})

test('a moment of the past is shown: states at that time, and back to the end', async () => {
  await using served = await openServed()
  const run = await served.start('diamond')
  const { page, context, problems } = await openPage(`${served.url}/ui/#/runs/${run}/nodes`)
  // Only then: a run of less than a millisecond has everything done at its first moment.
  await page.locator('tbody').getByText('running').waitFor()
  for (const gate of ['fetch', 'left', 'right', 'join']) served.gates.open(gate)
  await page.locator('.run-head').getByText('succeeded', { exact: true }).waitFor()
  await page.getByText('Complete').waitFor()
  const slider = page.getByRole('slider', { name: 'Moment of the run' })
  await slider.focus()
  await page.keyboard.press('Home')
  await page.locator('tbody').getByText('waiting').first().waitFor()
  assert.match(page.url(), /at=0/)
  assert.equal(await page.locator('tbody').getByText('succeeded').count(), 0)
  await page.getByRole('button', { name: 'To the end' }).click()
  await page.locator('tbody').getByText('succeeded').first().waitFor()
  assert.equal(await page.locator('tbody').getByText('waiting').count(), 0)
  // An address with a time that cannot be one shows the newest moment, and the page lives on.
  for (const at of ['1e308', '-5', 'soon']) {
    await page.goto(`${served.url}/ui/#/runs/${run}/nodes?at=${at}`)
    await page.getByText('end of the run').waitFor()
  }
  assert.deepEqual(problems, [])
  await context.close()
})

test('failures name every message, and two runs are compared', async () => {
  await using served = await openServed()
  const first = await served.start('shaky')
  const second = await served.start('shaky')
  const { page, context, problems } = await openPage(
    `${served.url}/ui/#/runs/${second}/timeline?node=broken`,
  )
  const panel = page.getByRole('complementary', { name: 'Node broken' })
  await panel.getByText('no luck in attempt 1').first().waitFor()
  await panel.getByText('no luck in attempt 2').first().waitFor()
  await page.locator('.run-head').getByText('failed', { exact: true }).waitFor()
  // The head names what failed, and leads to it.
  await panel.getByRole('button', { name: 'Close the panel' }).click()
  await panel.waitFor({ state: 'detached' })
  const failures = page.getByRole('group', { name: 'What failed' })
  await failures.getByText('no luck in attempt 2').waitFor()
  await failures.getByRole('button', { name: 'broken' }).click()
  await panel.waitFor()
  await page.getByRole('link', { name: 'Compare', exact: true }).click()
  await page.getByText('Compare with which run?').waitFor()
  await page.locator('tr', { hasText: first.slice(-4) }).click()
  await page.getByText('Critical path').nth(1).waitFor()
  assert.match(page.url(), new RegExp(`with=${first}`))
  assert.deepEqual(problems, [])
  await context.close()
})

test('a server that is stopped and started again is followed without a reload', async (t) => {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'heddle-ui-restart-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const store = `sqlite:${path.join(folder, 'serve.db')}`
  const gates = new Gates()
  const before = await openServed({ store, gates })
  const { port } = before.server
  const run = await before.start('diamond')
  const { page, context, problems } = await openPage(`${before.url}/ui/#/runs/${run}/nodes`)
  const row = (name: string) =>
    page.locator('tbody tr', { has: page.getByRole('button', { name, exact: true }) })
  await row('fetch').getByText('running').waitFor()
  await before[Symbol.asyncDispose]()
  await page.evaluate(() => ((globalThis as { mark?: number }).mark = 7))
  await using after = await openServed({ store, gates, port })
  for (const gate of ['fetch', 'left', 'right', 'join']) gates.open(gate)
  await page.locator('.run-head').getByText('succeeded', { exact: true }).waitFor()
  assert.equal(await page.evaluate(() => (globalThis as { mark?: number }).mark), 7)
  assert.equal(after.server.port, port)
  // A connection that is refused while the server is away is reported by the browser itself.
  assert.deepEqual(
    problems.filter((problem) => !/ERR_CONNECTION|ERR_INCOMPLETE|ERR_EMPTY/.test(problem)),
    [],
  )
  await context.close()
})

/** Starts a server that can be killed; resolves with its address. */
async function startProcess(
  store: string,
  port = 0,
): Promise<{ child: ChildProcess; url: string }> {
  const program = path.join(import.meta.dirname, 'killed-server.ts')
  const child = spawn(
    process.execPath,
    ['--conditions=heddle-source', program, store, String(port)],
    { stdio: ['pipe', 'pipe', 'inherit'] },
  )
  let text = ''
  for await (const chunk of child.stdout.setEncoding('utf8')) {
    text += String(chunk)
    if (text.includes('\n')) break
  }
  return { child, url: text.trim() }
}

test('a server that is killed and started again is followed without a reload, and a signal still arrives', async (t) => {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'heddle-ui-kill-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const store = `sqlite:${path.join(folder, 'serve.db')}`
  const before = await startProcess(store)
  const answer = await fetch(`${before.url}/runs`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ graph: 'asking', title: 'asking.ts' }),
  })
  const { run } = (await answer.json()) as { run: string }
  const { page, context, problems } = await openPage(`${before.url}/ui/#/runs/${run}?node=ask`)
  const panel = page.getByRole('complementary', { name: 'Node ask' })
  await panel.getByRole('button', { name: 'Approve' }).waitFor()
  await page.evaluate(() => ((globalThis as { mark?: number }).mark = 7))
  before.child.kill('SIGKILL')
  await once(before.child, 'exit')

  const after = await startProcess(store, Number(new URL(before.url).port))
  t.after(async () => {
    after.child.kill('SIGKILL')
    await once(after.child, 'exit')
  })
  // Refused until the new server has taken the run over: the dialog says so, and is sent once more.
  await panel.getByRole('button', { name: 'Approve' }).click()
  const dialog = page.getByRole('dialog', { name: 'Approve approval?' })
  const done = page.locator('.run-head').getByText('succeeded', { exact: true })
  for (let i = 0; i < 30 && !(await done.isVisible()); i++) {
    await dialog
      .getByRole('button', { name: 'Send' })
      .click({ timeout: 2_000 })
      .catch(() => {})
    await done.waitFor({ timeout: 4_000 }).catch(() => {})
  }
  await done.waitFor()
  await panel.getByText('"answer": true').waitFor()
  assert.equal(await page.evaluate(() => (globalThis as { mark?: number }).mark), 7)
  assert.deepEqual(
    problems.filter(
      (problem) => !/ERR_CONNECTION|ERR_INCOMPLETE|ERR_EMPTY|status of 40/.test(problem),
    ),
    [],
  )
  await context.close()
})

test('a run and the list that are opened while the server is away are filled when it is back, without a click', async (t) => {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'heddle-ui-away-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const store = `sqlite:${path.join(folder, 'serve.db')}`
  const gates = new Gates()
  const before = await openServed({ store, gates })
  const { port } = before.server
  const first = await before.start('leaving')
  const second = await before.start('shaky')
  const { page, context } = await openPage(`${before.url}/ui/#/runs/${first}`)
  const head = page.locator('.run-head')
  await head.getByText('succeeded', { exact: true }).waitFor()
  await page.getByRole('link', { name: 'Runs' }).first().click()
  await page.getByRole('link', { name: 'shaky.ts' }).waitFor()
  await before[Symbol.asyncDispose]()

  await page.goto(`${before.url}/ui/#/runs/${second}`)
  await page.getByRole('alert').getByText('The server cannot be reached').waitFor()
  await page.getByText('Connection lost, trying again').waitFor()
  {
    await using _after = await openServed({ store, gates, port })
    await head.getByText('failed', { exact: true }).waitFor()
    assert.equal(await page.getByRole('alert').count(), 0)
  }
  await page.goto(`${before.url}/ui/#/runs?state=failed`)
  await page.getByRole('alert').getByText('The server cannot be reached').waitFor()
  await using _again = await openServed({ store, gates, port })
  await page.getByRole('link', { name: 'shaky.ts' }).waitFor()
  await page.getByRole('alert').waitFor({ state: 'detached' })
  await context.close()
})

test('pages that ask again and again are filled when the server is back, without a click', async (t) => {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'heddle-ui-polled-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const store = `sqlite:${path.join(folder, 'serve.db')}`
  const before = await openServed({ store })
  const { port } = before.server
  const campaign = await startCampaign(before.url, { name: 'patch 15' })
  const views = ['fleet', 'load', 'campaigns', `campaigns/${campaign}`]
  const open = await Promise.all(
    views.map(async (view) => {
      const { page } = await openPage(`${before.url}/ui/#/${view}`)
      await page.locator('.live', { hasText: 'Live' }).waitFor()
      return page
    }),
  )
  await before[Symbol.asyncDispose]()
  for (const page of open) {
    await page.getByRole('alert').getByText('The server cannot be reached').first().waitFor()
    await page.evaluate(() => ((globalThis as { mark?: number }).mark = 7))
  }
  await using _after = await openServed({ store, port })
  for (const page of open) {
    await page.locator('.live', { hasText: 'Live' }).waitFor()
    await page.getByText('The server cannot be reached').waitFor({ state: 'detached' })
    assert.equal(await page.evaluate(() => (globalThis as { mark?: number }).mark), 7)
    await page.context().close()
  }
})
