import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { test } from 'node:test'
import { fileFor } from '../../src/runs/artifacts.ts'
import { fixture, runProgram } from '../support/program.ts'
import { Stage } from '../support/stage.ts'

test('heddle runs artifacts lists and saves what jobs have left, inside of the folder', async () => {
  await using stage = await Stage.open()
  const options = { cwd: stage.folder, env: { ...stage.env, HEDDLE_TEST_FIXED: '1' } }
  const ran = await runProgram(['run', fixture('artifacts.ts')], options)
  assert.equal(ran.code, 0, ran.stderr)
  const listed = await runProgram(['runs', 'artifacts', 'last'], options)
  assert.equal(listed.code, 0, listed.stderr)
  assert.match(listed.stdout, /report\.txt +11 B {2}make {2}[0-9a-f]{64}/)
  assert.match(listed.stdout, /2 artifacts, 21 B/)
  const saved = await runProgram(['runs', 'artifacts', 'last', '--save', 'out'], options)
  assert.equal(saved.code, 0, saved.stderr)
  const out = path.join(stage.folder, 'out')
  assert.equal(readFileSync(path.join(out, 'report.txt'), 'utf8'), 'all is well')
  assert.equal(readFileSync(path.join(out, 'pages/one.html'), 'utf8'), '<p>one</p>')
  assert.deepEqual(readdirSync(out).toSorted(), ['pages', 'report.txt'])
  const again = ['runs', 'artifacts', 'last', 'report.txt', '--save', 'out']
  const refused = await runProgram(again, options)
  assert.equal(refused.code, 2)
  assert.match(refused.stderr, /it exists; --force replaces it/)
  const forced = await runProgram([...again, '--force', '--json'], options)
  assert.equal(forced.code, 0, forced.stderr)
  const answer = JSON.parse(forced.stdout) as { artifacts: { name: string; file: string }[] }
  assert.deepEqual(
    answer.artifacts.map(({ name, file }) => [name, file]),
    [['report.txt', path.join('out', 'report.txt')]],
  )
  const unknown = await runProgram(['runs', 'artifacts', 'last', 'report.tx'], options)
  assert.equal(unknown.code, 2)
  assert.match(unknown.stderr, /did you mean "report\.txt"/)
})

test('a name of an artifact becomes a file inside of the folder', () => {
  const files = [
    'a.txt',
    'a/b',
    '/etc/passwd',
    '../../x',
    'c:\\d',
    '..',
    '.hidden',
    'a/./b',
    'nul?',
  ]
  assert.deepEqual(
    files.map((name) => path.relative('out', fileFor('out', name)).split(path.sep).join('/')),
    ['a.txt', 'a/b', 'etc/passwd', 'x', 'c_/d', 'artifact', '.hidden', 'a/b', 'nul_'],
  )
})
