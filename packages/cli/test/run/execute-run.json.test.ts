import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { after, test } from 'node:test'
import { fixture, runProgram } from '../support/program.ts'

const cwd = mkdtempSync(path.join(os.tmpdir(), 'heddle-json-'))
after(() => rmSync(cwd, { recursive: true, force: true }))

test('--json: only objects on standard output, the last one is the result', async () => {
  const { code, objects, stderr } = await runProgram(
    ['run', fixture('mixed.ts'), '--json', '--title', 'nightly', '--', 'fail'],
    { cwd },
  )
  assert.equal(code, 1)
  const types = new Set(objects.map(({ type }) => type))
  for (const type of ['start', 'state', 'node', 'log', 'run', 'result'])
    assert.ok(types.has(type), type)
  assert.equal(objects.find(({ type }) => type === 'start')!['title'], 'nightly')
  const order = objects.map(({ type, state }) => (type === 'node' ? state : type))
  const positions = ['run', 'start', 'running'].map((type) => order.indexOf(type))
  assert.deepEqual(
    positions,
    positions.toSorted((a, b) => a - b),
  )

  const result = objects.at(-1)!
  assert.equal(result['ok'], false)
  assert.match(String(result['run']), /^\d{8}-\d{6}-\w+$/)
  assert.deepEqual((result['succeeded'] as string[]).toSorted(), ['fine', 'flaky', 'threaded'])
  assert.deepEqual(result['failed'], {
    bad: { name: 'Error', message: '12 problems', code: 'E_LINT', attempts: 1 },
  })
  assert.deepEqual(result['blocked'], { behind: 'bad', 'far behind': 'bad' })
  assert.deepEqual([result['skipped'], result['cancelled'], result['reused']], [[], [], []])

  // For people: the output of the module, and the summary.
  assert.match(stderr, /^printed by the module$/m)
  assert.match(stderr, /1 failed, 2 blocked, 3 succeeded/)
})

test('--json: a run that could not start is reported as an object too', async () => {
  const { code, objects, stderr } = await runProgram(['run', 'nowhere.ts', '--json'], { cwd })
  assert.equal(code, 2)
  const [result] = objects
  assert.equal(result!['ok'], false)
  assert.deepEqual((result!['error'] as { code: string }).code, 'HDL_NO_MODULE')
  assert.match(stderr, /nowhere\.ts does not exist/)
})

test('the timeout and the retries of the command line apply to the run', async () => {
  const { code, objects } = await runProgram(
    [
      'run',
      fixture('waits.ts'),
      '--json',
      '--journal',
      'memory',
      '--timeout',
      '1ms',
      '--retries',
      '1',
    ],
    { cwd },
  )
  assert.equal(code, 1)
  const { waits } = objects.at(-1)!['failed'] as Record<string, { code: string; attempts: number }>
  assert.deepEqual([waits!.code, waits!.attempts], ['HDL_TIMEOUT', 2])
})

test('a watch of the loop that cannot start is reported, and the graph runs all the same', async () => {
  const program = await runProgram(
    ['run', fixture('unwatched.ts'), '--json', '--journal', 'memory'],
    { cwd },
  )
  assert.equal(program.code, 0, program.stderr)
  const notices = program.objects.filter(({ type }) => type === 'notice').map(({ text }) => text)
  assert.deepEqual(notices, [
    'the event loop is not watched, and gaps are not reported: nothing is observed here',
  ])
})
