import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { after, test } from 'node:test'
import { fixture, runProgram } from '../support/program.ts'

const folder = mkdtempSync(path.join(os.tmpdir(), 'heddle-options-'))
after(() => rmSync(folder, { recursive: true, force: true }))

const tuned = fixture('tuned.ts')

test('the options that a module exports are used: resources, title, journal, concurrency', async () => {
  const { code, objects } = await runProgram(['run', tuned, '--json'], { cwd: folder })
  assert.equal(code, 1, 'one of its jobs fails')
  const start = objects.find(({ type }) => type === 'start')!
  assert.equal(start['title'], 'tuned')
  assert.deepEqual(start['concurrency'], { loop: 3 })
  assert.equal(start['journal'], 'memory')
  assert.ok(!existsSync(path.join(folder, '.heddle')), 'nothing is recorded in the folder')
})

test('options of the command line take precedence over those of the module', async () => {
  const args = ['run', tuned, '--json', '--title', 'typed', '--concurrency', '1']
  const { objects } = await runProgram(args, { cwd: folder })
  const start = objects.find(({ type }) => type === 'start')!
  assert.equal(start['title'], 'typed')
  assert.equal(start['concurrency'], 1)
})

test('--only runs the named nodes and their dependencies', async () => {
  const { code, objects } = await runProgram(['run', tuned, '--json', '--only', 'second'], {
    cwd: folder,
  })
  assert.equal(code, 0)
  assert.deepEqual(objects.at(-1)!['succeeded'], ['first', 'second'])
})

test('--only with a name that is not in the graph runs nothing and suggests one', async () => {
  const { code, stdout, stderr } = await runProgram(['run', tuned, '--only', 'secnd'], {
    cwd: folder,
  })
  assert.equal(code, 2)
  assert.equal(stdout, '')
  assert.match(stderr, /There is no node "secnd"\. Did you mean "second"\?/)
})

test('--quiet prints failures and the summary only', async () => {
  const { code, stdout, stderr } = await runProgram(['run', tuned, '--quiet'], { cwd: folder })
  assert.equal(code, 1)
  assert.match(stdout, /^✗ bad: it broke\n\n✗ tuned: 1 failed, 2 succeeded in /)
  assert.doesNotMatch(stdout + stderr, /said hello|running|done/)
})

test('--graph prints the graph in three formats and runs nothing', async () => {
  const draw = async (...more: string[]): Promise<string> => {
    const { code, stdout } = await runProgram(['run', tuned, '--graph', ...more], { cwd: folder })
    assert.equal(code, 0)
    return stdout
  }
  assert.match(await draw('mermaid'), /^flowchart TD\n {2}n0\["first"\]\n[^]*n0 --> n1\n$/)
  assert.match(await draw('dot'), /^digraph heddle \{[^]*n0 -> n1\n\}\n$/)
  const { nodes } = JSON.parse(await draw('json', '--only', 'second')) as {
    nodes: { name: string }[]
  }
  assert.deepEqual(
    nodes.map(({ name }) => name),
    ['first', 'second'],
  )
  const wrong = await runProgram(['run', tuned, '--graph', 'svg'], { cwd: folder })
  assert.equal(wrong.code, 2)
  assert.match(wrong.stderr, /Allowed choices are mermaid, dot, json/)
})

test('the first job of a run is blamed too when it blocks the loop', async () => {
  const args = ['run', fixture('blocks-first.ts'), '--journal', 'memory']
  const { code, stdout } = await runProgram(args, { cwd: folder })
  assert.equal(code, 0)
  assert.match(
    stdout,
    /event loop +stood still for [\d.]+ m?s: job "first" at .*blocks-first\.ts:\d+/,
  )
})

test('--only and --resume in front of the file do not take it for a node or a run', async () => {
  const options = { cwd: folder }
  const drawn = await runProgram(['run', '--graph', 'json', '--only', 'first', tuned], options)
  assert.equal(drawn.code, 0)
  const { nodes } = JSON.parse(drawn.stdout) as { nodes: { name: string }[] }
  assert.deepEqual(
    nodes.map(({ name }) => name),
    ['first'],
  )
  const missing = await runProgram(['run', '--only', 'first'], options)
  assert.equal(missing.code, 2)
  assert.match(missing.stderr, /missing required argument 'file'\n\(the file comes first/)
  const none = await runProgram(['run', '--only', tuned], options)
  assert.match(none.stderr, /missing required node of '--only'/)
})
