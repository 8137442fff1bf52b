/** Downloads of the dashboard: artifacts of nodes, and runs as a page, a test, a trace and a drawing. */
import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { test } from 'node:test'
import { pathToFileURL } from 'node:url'
import type { Page } from 'playwright-core'
import { examine } from './axe.ts'
import { openPage } from './browser.ts'
import { openServed } from './served.ts'

/** The bytes of a download by click, and the name of the file. */
async function download(
  page: Page,
  click: () => Promise<void>,
): Promise<readonly [string, string]> {
  const [started] = await Promise.all([page.waitForEvent('download'), click()])
  return [started.suggestedFilename(), await readFile(await started.path(), 'utf8')]
}

test('artifacts of a node are listed with their size and downloaded; those of other nodes are not', async () => {
  await using served = await openServed()
  const run = await served.start('leaving')
  const { page, context, problems } = await openPage(`${served.url}/ui/#/runs/${run}?node=make`)
  const panel = page.getByRole('complementary', { name: 'Node make' })
  await panel.getByRole('heading', { name: '2 artifacts, 63 B' }).waitFor()
  await panel.getByText('22 B', { exact: true }).waitFor()
  const [name, bytes] = await download(page, () =>
    panel.getByRole('link', { name: 'report.csv' }).click(),
  )
  assert.deepEqual([name, bytes], ['report.csv', 'station,mean\nRiga,7.1\n'])
  const [, drawing] = await download(page, () =>
    panel.getByRole('link', { name: 'plots/<b>one</b>.svg' }).click(),
  )
  assert.match(drawing, /^<svg /)
  await page.goto(`${served.url}/ui/#/runs/${run}?node=read`)
  const other = page.getByRole('complementary', { name: 'Node read' })
  await other.getByText('1 attempt').waitFor()
  assert.equal(await other.getByText('artifact').count(), 0)
  assert.deepEqual(problems, [])
  await context.close()
})

test('a run is exported as a page, a test, a trace and a drawing, by keyboard too', async () => {
  await using served = await openServed()
  const run = await served.start('shaky')
  const { page, context, problems } = await openPage(`${served.url}/ui/#/runs/${run}`)
  await page.locator('.run-head').getByText('failed', { exact: true }).waitFor()
  const menu = page.getByRole('button', { name: 'Export this run' })
  const exported = async (title: string): Promise<readonly [string, string]> => {
    await menu.focus()
    await page.keyboard.press('Enter')
    await page.getByRole('link', { name: title }).focus()
    const found = await download(page, () => page.keyboard.press('Enter'))
    await page.keyboard.press('Escape')
    return found
  }
  const [testName, source] = await exported('Test that plays it again')
  assert.equal(testName, `${run}.test.ts`)
  assert.match(source, /import \{ replayRun, VirtualClock, type RecordedRun \}/)
  assert.match(source, /\['broken', 'failed'\]/)
  const [, trace] = await exported('Chrome trace')
  const { traceEvents } = JSON.parse(trace) as { traceEvents: { name: string }[] }
  assert.equal(traceEvents.filter(({ name }) => name === 'broken').length, 2)
  const [, drawing] = await exported('Mermaid drawing')
  assert.match(drawing, /^flowchart LR\n {2}n0\["first"\]/)
  const [pageName, html] = await exported('One HTML page')
  assert.equal(pageName, `${run}.html`)
  assert.match(html, /no luck in attempt 2/)
  assert.deepEqual(problems, [])
  await context.close()
})

const pictures = path.join(import.meta.dirname, '../../dist/screenshots')
mkdirSync(pictures, { recursive: true })

for (const theme of ['light', 'dark'] as const) {
  test(`the exported page opens from a file in the ${theme} theme, without a server and without a problem`, async (t) => {
    const folder = mkdtempSync(path.join(os.tmpdir(), 'heddle-ui-page-'))
    t.after(() => rmSync(folder, { recursive: true, force: true }))
    const file = path.join(folder, 'run.html')
    {
      await using served = await openServed()
      const run = await served.start('shaky')
      const ended = await fetch(`${served.url}/runs/${run}/events`)
      await ended.text()
      const answer = await fetch(`${served.url}/runs/${run}/export/html`)
      assert.match(answer.headers.get('content-disposition')!, /^attachment; filename=".*\.html"$/)
      writeFileSync(file, await answer.text())
    }
    const { page, context, problems } = await openPage(pathToFileURL(file).href, { theme })
    await page.getByRole('heading', { name: 'failed shaky.ts' }).waitFor()
    await page.getByRole('img', { name: 'When each node waited and ran' }).waitFor()
    await page.getByRole('link', { name: 'broken' }).first().click()
    assert.match(page.url(), /#n1$/)
    assert.deepEqual(await examine(page), [])
    await page.screenshot({ path: path.join(pictures, `export-${theme}.png`), fullPage: true })
    assert.deepEqual(problems, [])
    await context.close()
  })
}
