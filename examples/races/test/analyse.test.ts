import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import path from 'node:path'
import { test } from 'node:test'
import { analyseFile, analyseTyped } from '../analyse.ts'
import { gallery } from '../gallery.ts'

for (const { name, rule, check, act } of gallery) {
  test(`${name}: ${rule} is reported for the race, at its lines, and nothing for the repair`, async () => {
    const found = await analyseFile(`${name}/race.ts`)
    const wanted = found.find((finding) => finding.rule === rule)
    assert.ok(
      wanted !== undefined,
      `found ${found.map((each) => each.rule).join(', ') || 'nothing'}`,
    )
    assert.deepEqual([wanted.check, wanted.act], [check, act])
    assert.ok(new Set(wanted.trace.map(({ task }) => task)).size >= 2)
    assert.ok(wanted.window !== undefined && wanted.fixes.length >= 2)
    const left = (await analyseFile(`${name}/fixed.ts`)).filter(({ level }) => level !== 'note')
    assert.deepEqual(
      left.map(({ rule: each, line }) => `${each} at line ${line}`),
      [],
    )
  })
}

test('with types all of them are found as well, and nothing in the repairs', async () => {
  const races = await analyseTyped(gallery.map(({ name }) => `${name}/race.ts`))
  assert.notEqual(races.stats.types, 'none')
  for (const { name, rule, check, act } of gallery) {
    const found = races.findings.find(
      (finding) => finding.rule === rule && finding.file === `${name}/race.ts`,
    )
    assert.deepEqual([name, found?.check, found?.act], [name, check, act])
  }
  const { findings } = await analyseTyped(gallery.map(({ name }) => `${name}/fixed.ts`))
  const left = findings.filter(({ level }) => level !== 'note')
  assert.deepEqual(
    left.map(({ rule, file, line }) => `${rule} at ${file}:${line}`),
    [],
  )
})

test('every README matches the output of the analyzer: else run `npm run format`', () => {
  const root = path.resolve(import.meta.dirname, '../../..')
  const { status, stderr } = spawnSync(
    process.execPath,
    ['--conditions=heddle-source', 'examples/races/readmes.ts', '--check'],
    { cwd: root, encoding: 'utf8' },
  )
  assert.equal(status, 0, stderr)
})
