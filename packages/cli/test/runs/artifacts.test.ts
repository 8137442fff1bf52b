import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { after, test } from 'node:test'
import { openDatabase, type TestDatabase } from '@heddle/test-servers'
import { openArtifacts } from '@heddle/core/lowlevel'
import { filesFor } from '../../src/runs/artifacts.ts'
import { fixture, runProgram } from '../support/program.ts'
import { Stage } from '../support/stage.ts'

let postgres: Promise<TestDatabase> | undefined
after(async () => (await postgres)?.[Symbol.asyncDispose]())

test('heddle runs artifacts lists and saves the artifacts of jobs, inside of the folder', async () => {
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
  assert.match(
    refused.stderr,
    /Option "save" is "out[/\\]+report\.txt", expected .*--force, which replaces it/,
  )
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

test('artifacts on PostgreSQL are listed, saved, copied to and pruned with their run', async () => {
  await using stage = await Stage.open()
  const options = { cwd: stage.folder, env: { ...stage.env, HEDDLE_TEST_FIXED: '1' } }
  const { address } = await (postgres ??= openDatabase())
  const journal = ['--journal', `${address}?schema=cli_artifacts`]
  const ran = await runProgram(['run', fixture('artifacts.ts'), '--quiet', ...journal], options)
  assert.equal(ran.code, 0, ran.stderr)
  const listed = await runProgram(['runs', 'artifacts', 'last', ...journal], options)
  assert.equal(listed.code, 0, listed.stderr)
  assert.match(listed.stdout, /report\.txt +11 B {2}make {2}[0-9a-f]{64}/)
  const saving = ['runs', 'artifacts', 'last', '--save', 'out', ...journal]
  const saved = await runProgram(saving, options)
  assert.equal(saved.code, 0, saved.stderr)
  assert.equal(readFileSync(path.join(stage.folder, 'out/report.txt'), 'utf8'), 'all is well')

  const local = await runProgram(['run', fixture('artifacts.ts'), '--quiet'], options)
  assert.equal(local.code, 0, local.stderr)
  const copying = ['runs', 'copy', 'sqlite:.heddle/runs.db', journal[1]!]
  const copied = await runProgram(copying, options)
  assert.equal(copied.code, 0, copied.stderr)
  assert.match(copied.stdout, /Copied 2 artifacts, 21 B, and compared their checksums\./)
  const both = await runProgram(['runs', 'artifacts', 'last', '--json', ...journal], options)
  const { artifacts } = JSON.parse(both.stdout) as { artifacts: { name: string; by: string }[] }
  assert.deepEqual(
    artifacts.map(({ name, by }) => `${name} by ${by}`),
    ['report.txt by make', '../pages/one.html by make'],
  )
  const { run } = JSON.parse(both.stdout) as { run: string }
  const pruned = await runProgram(['runs', 'prune', '--keep', '0', '--yes', ...journal], options)
  assert.equal(pruned.code, 0, pruned.stderr)
  await using store = await openArtifacts(journal[1]!)
  assert.deepEqual(await store.list(run), [])
  assert.deepEqual(await Array.fromAsync(store.sizes()), [])
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
  assert.deepEqual(relativeFiles(files), [
    'a.txt',
    'a/b',
    'etc/passwd',
    'x',
    'c_/d',
    'artifact',
    '.hidden',
    'a/b-2',
    'nul_',
  ])
})

test('each artifact is saved in a file of its own, whatever the names are', () => {
  assert.deepEqual(relativeFiles(['.', '..', 'a']), ['artifact', 'artifact-2', 'a'])
  assert.deepEqual(relativeFiles(['a/b', 'a']), ['a/b', 'a-2'])
  assert.deepEqual(relativeFiles(['a', 'a/b']), ['a-2', 'a/b'])
  assert.deepEqual(relativeFiles(['r.txt', 'r?.txt', 'r_.txt']), ['r.txt', 'r_.txt', 'r_-2.txt'])
  assert.deepEqual(relativeFiles(['A.txt', 'a.txt', 'a-2.txt']), ['A.txt', 'a-2.txt', 'a-2-2.txt'])
})

function relativeFiles(names: readonly string[]): string[] {
  const files = filesFor('out', names)
  return names.map((name) => path.relative('out', files.get(name)!).split(path.sep).join('/'))
}
