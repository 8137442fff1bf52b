/** `npm start` in a terminal: the dashboard with the sample run and two workers, and Ctrl+C ends all of it. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { test } from 'node:test'
import { cleanEnv } from '../../../cli/test/support/program.ts'
import { Pty, whyNoTerminal } from '../../../cli/test/support/pty.ts'
import { openPage } from './browser.ts'

const main = path.resolve(import.meta.dirname, '../../../../examples/first-run/main.ts')

test(
  'N1 npm start: the sample run is live, two workers take part in it, and Ctrl+C leaves nothing behind',
  { skip: whyNoTerminal() },
  async (t) => {
    const folder = mkdtempSync(path.join(os.tmpdir(), 'heddle-start-'))
    t.after(() => rmSync(folder, { recursive: true, force: true }))
    const command = `'${process.execPath}' --conditions=heddle-source '${main}' --port 0`
    using terminal = new Pty(`${command}; echo "code $?"`, {
      cwd: folder,
      env: cleanEnv(),
      columns: 120,
    })
    const [, url] = await terminal.wrote(/This run {4}(http:\S+)/)
    const { page, context, problems } = await openPage(url!)
    await page.getByRole('heading', { name: 'climate of ten stations' }).waitFor()
    await page.locator('.run-head').getByText('succeeded', { exact: true }).waitFor()
    await page.getByRole('link', { name: 'Fleet' }).click()
    for (const name of ['anni', 'otti']) await page.locator('tbody tr', { hasText: name }).waitFor()
    const run = new URL(url!).hash.replace('#/runs/', '')
    const timeline = await fetch(new URL(`/runs/${run}/timeline`, url))
    const { lanes } = (await timeline.json()) as { lanes: { place: string }[] }
    assert.deepEqual(new Set(lanes.map(({ place }) => place)), new Set(['loop', 'thread', 'fleet']))
    assert.deepEqual(problems, [])
    await context.close()
    terminal.type('\u0003')
    await terminal.wrote(/code 0\n/)
    // It closes when the last process that holds it has ended: a worker that stays would keep it open.
    await terminal.closed()
    await assert.rejects(fetch(url!), 'nothing listens any more')
  },
)
