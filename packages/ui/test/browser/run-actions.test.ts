/** The actions that change a run: approve, retry from a node, start, cancel many; by mouse and by keyboard only. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openPage, tabTo } from './browser.ts'
import { openServed } from './served.ts'

for (const way of ['mouse', 'keyboard'] as const) {
  test(`a node that waits for a signal is approved by ${way}, and the next one is refused`, async () => {
    await using served = await openServed()
    const { page, context, problems } = await openPage(`${served.url}/ui/#/runs`)
    const panel = page.getByRole('complementary', { name: 'Node ask' })
    for (const [verb, answer] of [
      ['Approve', true],
      ['Refuse', false],
    ] as const) {
      const run = await served.start('asking')
      // Nothing of the run says which node waits but its head.
      await page.goto(`${served.url}/ui/#/runs/${run}`)
      const waiting = page.getByRole('group', { name: 'What is waited for' })
      if (way === 'mouse') await waiting.getByRole('button', { name: 'ask' }).click()
      else {
        await waiting.getByRole('button', { name: 'ask' }).waitFor()
        await tabTo(page, 'ask')
        await page.keyboard.press('Enter')
        await panel.waitFor()
        await page.keyboard.press('o')
      }
      const button = panel.getByRole('button', { name: verb })
      await button.waitFor()
      if (way === 'mouse') await button.click()
      else {
        await tabTo(page, verb)
        await page.keyboard.press('Enter')
      }
      const dialog = page.getByRole('dialog', { name: `${verb} approval?` })
      await dialog.getByText('ask waits for the signal “approval”').waitFor()
      if (way === 'mouse') await dialog.getByRole('button', { name: 'Send' }).click()
      else await page.keyboard.press('Enter')
      await page.locator('.run-head').getByText('succeeded', { exact: true }).waitFor()
      await panel.getByText(`"answer": ${answer}`).waitFor()
    }
    assert.deepEqual(problems, [])
    await context.close()
  })
}

test('a value for a signal must be JSON: the typed text stays, and the fault is shown', async () => {
  await using served = await openServed()
  const run = await served.start('asking')
  const { page, context, problems } = await openPage(`${served.url}/ui/#/runs/${run}?node=ask`)
  const panel = page.getByRole('complementary', { name: 'Node ask' })
  await panel.getByRole('button', { name: 'Send a value…' }).click()
  const dialog = page.getByRole('dialog', { name: 'Send approval' })
  const field = dialog.getByLabel('Value, as JSON')
  await field.fill('{ by: ada }')
  await dialog.getByRole('button', { name: 'Send' }).click()
  await dialog.getByRole('alert').getByText('The value is not JSON').waitFor()
  assert.equal(await field.inputValue(), '{ by: ada }')
  await field.fill('{ "by": "ada" }')
  await dialog.getByRole('button', { name: 'Send' }).click()
  await panel.getByText('"by": "ada"').waitFor()
  assert.deepEqual(problems, [])
  await context.close()
})

for (const way of ['mouse', 'keyboard'] as const) {
  test(`a failed run is retried from its node by ${way}: a new run, which names the old one`, async () => {
    await using served = await openServed()
    const run = await served.start('shaky')
    const { page, context, problems } = await openPage(`${served.url}/ui/#/runs/${run}?node=broken`)
    await page.locator('.run-head').getByText('failed', { exact: true }).waitFor()
    const retry = page.getByRole('button', { name: 'Retry from here' })
    await retry.waitFor()
    const dialog = page.getByRole('dialog', { name: 'Retry from broken?' })
    if (way === 'mouse') {
      await retry.click()
      await dialog.getByText('A new run starts. It runs broken and everything').waitFor()
      await dialog.getByRole('button', { name: 'Retry' }).click()
    } else {
      await tabTo(page, 'Retry from here')
      await page.keyboard.press('Enter')
      await dialog.waitFor()
      await page.keyboard.press('Enter')
    }
    await page.locator('.run-head').getByRole('link', { name: run }).waitFor()
    assert.doesNotMatch(page.url(), new RegExp(`/runs/${run}`))
    // It fails again, as its job does; reused nodes did not run again.
    await page.locator('.run-head').getByText('failed', { exact: true }).waitFor()
    assert.deepEqual(problems, [])
    await context.close()
  })
}

test('a run is started by its dialog with the keyboard; all active runs are cancelled at once by mouse', async () => {
  await using served = await openServed()
  await served.start('diamond')
  await served.start('diamond')
  const { page, context, problems } = await openPage(`${served.url}/ui/`)
  await page.getByRole('link', { name: 'diamond.ts' }).first().waitFor()
  await page.keyboard.press('n')
  const dialog = page.getByRole('dialog', { name: 'Start a run?' })
  await dialog.getByRole('combobox', { name: /^Graph/ }).selectOption('asking')
  await dialog.getByLabel('Title').fill('by hand')
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'by hand' }).waitFor()

  await page.goto(`${served.url}/ui/#/runs?state=active`)
  await page.getByRole('button', { name: 'Cancel all that match' }).click()
  await page
    .getByRole('dialog', { name: 'Cancel all runs that match the filter?' })
    .getByRole('button', { name: 'Cancel all of them' })
    .click()
  await page.getByText('Cancelling 3 runs.').waitFor()
  for (const gate of ['fetch', 'left', 'right', 'join']) served.gates.open(gate)
  await page.goto(`${served.url}/ui/#/runs?state=cancelled`)
  await page.locator('tbody').getByText('cancelled', { exact: true }).nth(2).waitFor()
  assert.deepEqual(problems, [])
  await context.close()
})

test('a user who closes the dialog while a run starts stays on the page', async () => {
  await using served = await openServed()
  const { page, context, problems } = await openPage(`${served.url}/ui/#/runs`)
  const asked = Promise.withResolvers<void>()
  const answer = Promise.withResolvers<void>()
  await page.route('**/runs', async (route) => {
    if (route.request().method() !== 'POST') return route.continue()
    asked.resolve()
    await answer.promise
    return route.continue()
  })
  await page.getByRole('button', { name: 'Start a run' }).click()
  const dialog = page.getByRole('dialog', { name: 'Start a run?' })
  await dialog.getByRole('combobox', { name: /^Graph/ }).selectOption('diamond')
  await dialog.getByRole('button', { name: 'Start the run' }).click()
  await asked.promise
  await page.keyboard.press('Escape')
  await dialog.waitFor({ state: 'detached' })
  answer.resolve()
  await page.getByText('The run has started.').waitFor()
  assert.equal(new URL(page.url()).hash, '#/runs')
  assert.deepEqual(problems, [])
  served.gates.openAll()
  await page.getByRole('row').getByText('succeeded', { exact: true }).waitFor()
  await context.close()
})
