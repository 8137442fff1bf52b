/** `heddle run --ui`: the dashboard of the process that runs the graph, which it steers. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fixture, Program } from '../../../cli/test/support/program.ts'
import { Stage } from '../../../cli/test/support/stage.ts'
import { openPage } from './browser.ts'

/** The server ends with the run: the browser itself reports requests to it. */
function unexpected(problems: readonly string[]): string[] {
  return problems.filter((problem) => !/net::ERR_/.test(problem))
}

for (const journal of ['sqlite:runs.db', 'memory']) {
  test(`run --ui with ${journal}: the run is watched, paused and resumed, and the process ends with it`, async () => {
    await using stage = await Stage.open()
    const args = ['run', fixture('staged.ts'), '--ui', '--ui-port', '0', '--json']
    using program = new Program([...args, '--journal', journal, '--', 'first', 'second:first'], {
      cwd: stage.folder,
      env: stage.env,
    })
    const [, url] = await program.printed(/"type":"dashboard","url":"([^"]+)"/)
    await stage.started('first')
    const { page, context, problems } = await openPage(url!.replace(/$/, '/nodes'))
    const row = (name: string) =>
      page.locator('tbody tr', { has: page.getByRole('button', { name, exact: true }) })
    await row('first').getByText('running').waitFor()
    await page.getByRole('button', { name: 'Pause', exact: true }).click()
    await page
      .getByRole('dialog', { name: 'Pause this run?' })
      .getByRole('button', { name: 'Pause' })
      .click()
    await page.locator('.run-head').getByText('paused', { exact: true }).waitFor()
    await stage.finish('first')
    await row('first').getByText('succeeded').waitFor()
    assert.deepEqual(stage.starts, ['first'])
    await page.getByRole('button', { name: 'Resume', exact: true }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Resume' }).click()
    await stage.started('second')
    await row('second').getByText('running').waitFor()
    assert.deepEqual(problems, [])
    await stage.finish('second')
    assert.equal(await program.ended(), 0)
    const result = program.objects.at(-1)!
    assert.deepEqual([result['ok'], result['succeeded']], [true, ['first', 'second']])
    assert.deepEqual(unexpected(problems), [])
    await context.close()
  })
}

test('run --ui: a run that is cancelled in the dashboard ends its process with 130', async () => {
  await using stage = await Stage.open()
  const args = ['run', fixture('staged.ts'), '--ui', '--ui-port', '0', '--json', '--', 'a', 'b:a']
  using program = new Program(args, { cwd: stage.folder, env: stage.env })
  const [, url] = await program.printed(/"type":"dashboard","url":"([^"]+)"/)
  await stage.started('a')
  const { page, context, problems } = await openPage(url!)
  await page.getByRole('button', { name: 'Cancel', exact: true }).click()
  await page
    .getByRole('dialog', { name: 'Cancel this run?' })
    .getByRole('button', { name: 'Cancel the run' })
    .click()
  await page.getByText('The run is being cancelled.').waitFor()
  await stage.finish('a')
  assert.equal(await program.ended(), 130)
  assert.deepEqual(program.objects.at(-1)!['skipped'], ['b'])
  assert.deepEqual(unexpected(problems), [])
  await context.close()
})
