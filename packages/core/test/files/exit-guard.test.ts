import assert from 'node:assert/strict'
import { test } from 'node:test'
import { beforeExit } from '../../src/files/exit-guard.ts'
import { Folder, Program } from './support.ts'

const skip = process.platform === 'win32' && 'Windows has no such signals'
const events = ['exit', 'SIGINT', 'SIGTERM', 'SIGHUP'] as const
const listeners = (): number[] => events.map((event) => process.listenerCount(event))

/** Runs the fixture until it is ready, ends it, and returns its final output. */
async function end(how: string, finish: (program: Program) => void) {
  using folder = new Folder()
  await using program = new Program('guarded.ts', folder.at('log'), how)
  await program.next()
  finish(program)
  const ended = await program.ended
  const log = folder.names().includes('log') ? folder.read('log') : ''
  return { ...ended, log, stderr: program.stderr }
}

test('I3: listeners are there exactly while there are actions', () => {
  const before = listeners()
  const action = (): void => {}
  const first = beforeExit(action)
  const withOne = listeners()
  assert.deepEqual(
    withOne,
    before.map((count) => count + 1),
  )
  const second = beforeExit(action)
  assert.deepEqual(listeners(), withOne)
  first[Symbol.dispose]()
  first[Symbol.dispose]()
  assert.deepEqual(listeners(), withOne)
  second[Symbol.dispose]()
  assert.deepEqual(listeners(), before)
})

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  test(
    `I1, I2: ${signal} runs every action once, newest first, and then ends the process`,
    { skip },
    async () => {
      const seen = await end('wait', (program) => program.process.kill(signal))
      assert.deepEqual(seen, { code: null, signal, log: 'second first ', stderr: '' })
    },
  )
}

test('I1: process.exit() runs the actions and keeps its code', async () => {
  const seen = await end('exit', (program) => program.process.send('go'))
  assert.deepEqual(seen, { code: 7, signal: null, log: 'second first ', stderr: '' })
})

for (const how of ['throw', 'reject'] as const) {
  test(`I1: an uncaught error (${how}) runs the actions and keeps its code`, async () => {
    const seen = await end(how, (program) => program.process.send('go'))
    assert.equal(seen.code, 1)
    assert.equal(seen.log, 'second first ')
    assert.match(seen.stderr, /uncaught for the test/)
  })
}

test('I1: an action that throws does not keep the others from running, and is reported', async () => {
  const seen = await end('broken', (program) => program.process.send('go'))
  assert.deepEqual(seen, { code: 1, signal: null, log: 'second first ', stderr: 'broken action\n' })
})

test(
  'I2: a program that handles the signal itself decides when to end; the actions run then',
  { skip },
  async () => {
    const seen = await end('own handler', (program) => program.process.kill('SIGINT'))
    assert.deepEqual(seen, { code: 130, signal: null, log: 'graceful second first ', stderr: '' })
  },
)

test(
  'I2: with the package signal-exit in the program both run, and the signal ends the process',
  { skip },
  async () => {
    const seen = await end('signal-exit', (program) => program.process.kill('SIGINT'))
    assert.deepEqual(seen, {
      code: null,
      signal: 'SIGINT',
      log: 'second first theirs ',
      stderr: '',
    })
  },
)
