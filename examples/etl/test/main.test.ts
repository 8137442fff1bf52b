import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { test } from 'node:test'
import { openJournal } from '@heddle/core/lowlevel'

test('all pages are fetched, parsed in threads and added up; the report is kept with the run', async (t) => {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'heddle-etl-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const main = path.join(import.meta.dirname, '../main.ts')
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    ['--conditions=heddle-source', main],
    { cwd: folder, encoding: 'utf8' },
  )
  assert.deepEqual([status, stderr], [0, ''], stdout)
  const lines = stdout.trimEnd().split('\n')
  // The list and 60 pages.
  assert.match(lines[0]!, /^61 pages in /)
  const totals = lines.slice(1, 5).map((line) => line.split(/ +/) as [string, string])
  assert.deepEqual(totals.map(([shop]) => shop).sort(), ['Bergen', 'Graz', 'Lecce', 'Tartu'])
  const cents = totals.reduce((sum, [, euros]) => sum + Math.round(Number(euros) * 100), 0)
  let expected = 0
  for (let page = 0; page < 60; page++) {
    for (let row = 0; row < 500; row++) expected += 100 + ((page * 31 + row * 17) % 900)
  }
  assert.equal(cents, expected)

  await using journal = await openJournal(`sqlite:${path.join(folder, 'etl.db')}`, {
    readOnly: true,
  })
  const [run] = await journal.runs()
  const { nodes } = await journal.snapshot(run!.id)
  assert.deepEqual(
    nodes.map(({ name, place, parts }) => [name, place, parts?.succeeded]),
    [
      ['list', 'loop', undefined],
      ['fetch', 'loop', 60],
      ['parse', 'thread', 60],
      ['report', 'loop', undefined],
    ],
  )
  const files = await journal.artifacts!.list(run!.id)
  assert.deepEqual(
    files.map(({ name }) => name),
    ['report.csv'],
  )
})
