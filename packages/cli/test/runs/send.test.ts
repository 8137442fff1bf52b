import assert from 'node:assert/strict'
import { test } from 'node:test'
import { until } from '../../../core/test/kernel/until.ts'
import { fixture, Program, runProgram } from '../support/program.ts'
import { Stage } from '../support/stage.ts'

interface Answer {
  readonly ok: boolean
  readonly run: string
}

function answerOf(stdout: string): Answer {
  return JSON.parse(stdout.trimEnd().split('\n').at(-1)!) as Answer
}

/** Waits until the journal has it: a row of a wait is written after the output of the run. */
async function shown(pattern: RegExp, options: { cwd: string }): Promise<void> {
  await until(async () =>
    pattern.test((await runProgram(['runs', 'show', 'last'], options)).stdout),
  )
}

test('G9: a job that waits for a signal gets it from another process, also one that was sent while none ran it', async () => {
  await using stage = await Stage.open()
  const options = { cwd: stage.folder, env: stage.env }
  const args = ['run', fixture('approval.ts'), '--key', 'order-7', '--json']
  using first = new Program(args, options)
  await first.printed(/"name":"approve","state":"suspended".*"signal":"approval"/)
  const approve = /◐ approve .* suspended: waits for the signal "approval"/
  await shown(approve, options)
  first.process.kill('SIGKILL')
  await first.ended()
  const early = await runProgram(['runs', 'send', 'last', 'approval', '{ "by": "Ada" }'], options)
  assert.equal(early.code, 0, early.stderr)
  assert.match(early.stdout, /it is delivered when the run is resumed/)
  const interrupted = await runProgram(['runs', 'show', 'last'], options)
  assert.match(interrupted.stdout, approve)
  const one = await runProgram(['runs', 'show', 'last', '--node', 'approve'], options)
  assert.match(one.stdout, /continue with +heddle runs send \S+ approval VALUE/)
  using second = new Program(args, options)
  await second.printed(/approved by Ada/)
  await second.printed(/"name":"ship","state":"suspended"/)
  await shown(/waits for the signal "shipped"/, options)
  const misspelled = await runProgram(['runs', 'send', 'last', 'shiped'], options)
  assert.match(
    misspelled.stdout,
    /No job waits for it yet, so it is kept\. The run waits for "shipped"\./,
  )
  const sent = await runProgram(['runs', 'send', 'last', 'shipped', 'today', '--json'], options)
  assert.equal(answerOf(sent.stdout).ok, true)
  assert.equal(await second.ended(), 0)
  assert.match(second.stdout, /shipped today/)
  const late = await runProgram(['runs', 'send', 'last', 'shipped'], options)
  assert.deepEqual(
    [late.code, /takes no signals any more: it has succeeded\.$/m.test(late.stdout)],
    [1, true],
  )
  const unknown = await runProgram(['runs', 'show', 'last', '--node', 'approv'], options)
  assert.equal(unknown.code, 2)
  assert.match(unknown.stderr, /Did you mean "approve"\?\n.*heddle runs show RUN --all/)
})
