import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type AddressInfo } from 'node:net'
import { test } from 'node:test'
import { cleanEnv, fixture, launcher, runProgram } from '../support/program.ts'
import { Pty, whyNoTerminal } from '../support/pty.ts'
import { Stage } from '../support/stage.ts'

const skip = whyNoTerminal()
const node = `'${process.execPath}' --conditions=heddle-source '${launcher}'`
const staged = `${node} run '${fixture('staged.ts')}' --ui --ui-port 0`

function open(stage: Stage, script: string): Pty {
  return new Pty(`${script}; echo "code $?"`, {
    cwd: stage.folder,
    env: cleanEnv(stage.env),
    columns: 140,
  })
}

test(
  'run --ui in a terminal: the dashboard outlives the run, Ctrl+C ends it with the code of the run',
  { skip },
  async () => {
    await using stage = await Stage.open()
    using terminal = open(stage, `${staged} -- first`)
    await stage.finish('first')
    const [, url] = await terminal.wrote(
      /1 succeeded[^]*dashboard {2}(http:\S+) {3}Ctrl\+C ends it/,
    )
    const page = await fetch(url!)
    assert.equal(page.status, 200)
    const run = new URL(url!).hash.replace('#/runs/', '')
    const head = await fetch(new URL(`/runs/${run}`, url))
    assert.equal(((await head.json()) as { outcome: string }).outcome, 'succeeded')
    terminal.type('\u0003')
    await terminal.wrote(/code 0\n/)
    await terminal.closed()
    await assert.rejects(fetch(url!), 'nothing listens any more')
  },
)

test(
  'run --ui in a terminal: the dashboard does not stay open after a cancel',
  { skip },
  async () => {
    await using stage = await Stage.open()
    using terminal = open(stage, `${staged} -- first second:first`)
    await stage.started('first')
    await terminal.see(/q cancel/)
    terminal.type('q')
    await terminal.see(/cancelling \(key q\)/)
    await stage.finish('first')
    await terminal.wrote(/code 130\n/)
    await terminal.closed()
    assert.doesNotMatch(terminal.everything, /Ctrl\+C ends it/)
  },
)

test('Q2 run --ui-port: a port that another program has is refused before anything runs', async () => {
  await using stage = await Stage.open()
  const other = createServer().listen(0, '127.0.0.1')
  await once(other, 'listening')
  try {
    const { port } = other.address() as AddressInfo
    const args = ['run', fixture('staged.ts'), '--ui-port', String(port), '--json', '--', 'first']
    const { code, stderr } = await runProgram(args, { cwd: stage.folder, env: stage.env })
    assert.equal(code, 2)
    assert.match(stderr, /another program listens there/)
    assert.deepEqual(stage.starts, [])
  } finally {
    other.close()
  }
})
