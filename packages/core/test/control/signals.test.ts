import assert from 'node:assert/strict'
import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { after, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { Worker } from 'node:worker_threads'
import { controlBySignals } from '../../src/control/signals.ts'

const skip = process.platform === 'win32' ? 'Windows has no SIGUSR1 and SIGUSR2' : false
const children = new Set<ChildProcess>()
after(() => {
  for (const child of children) child.kill('SIGKILL')
})

/** A program that reports what happens to it. */
class Program {
  readonly process: ChildProcess
  stderr = ''
  readonly #events: string[] = []
  #wake = (): void => {}

  constructor(...args: string[]) {
    const file = fileURLToPath(new URL('./fixtures/signalled.ts', import.meta.url))
    this.process = fork(file, args, { stdio: ['ignore', 'ignore', 'pipe', 'ipc'] })
    children.add(this.process)
    this.process.stderr!.on('data', (text) => (this.stderr += String(text)))
    this.process.on('message', (event) => {
      this.#events.push(event as string)
      this.#wake()
    })
    this.process.on('exit', (code, signal) => {
      children.delete(this.process)
      this.#events.push(`exit ${code ?? signal}`)
      this.#wake()
    })
  }

  async next(): Promise<string> {
    while (this.#events.length === 0) await new Promise<void>((resolve) => (this.#wake = resolve))
    return this.#events.shift()!
  }

  async ask(question: string): Promise<string> {
    this.process.send(question)
    return this.next()
  }
}

test(
  'S54 USR1 pauses and USR2 resumes every target; earlier handlers of the program still work',
  { skip },
  async () => {
    const program = new Program()
    assert.equal(await program.next(), 'ready')
    program.process.kill('SIGUSR1')
    assert.deepEqual(
      [await program.next(), await program.next(), await program.next()],
      ['own USR1', 'a pause', 'b pause'],
    )
    program.process.kill('SIGUSR2')
    assert.deepEqual([await program.next(), await program.next()], ['a resume', 'b resume'])
    program.process.send('end')
    assert.equal(await program.next(), 'exit 0')
  },
)

test(
  'I1, P19: after the run no signal kills the process or opens the inspector',
  { skip },
  async () => {
    const program = new Program('without own handler')
    assert.equal(await program.next(), 'ready')
    assert.equal(await program.ask('dispose'), 'disposed')
    for (const signal of ['SIGUSR1', 'SIGUSR2', 'SIGUSR1'] as const) {
      program.process.kill(signal)
      assert.equal(await program.ask('inspector'), 'inspector closed')
    }
    assert.doesNotMatch(program.stderr, /Debugger listening/)
    program.process.send('end')
    assert.equal(await program.next(), 'exit 0')
  },
)

test('disposing one target leaves the others', { skip }, async () => {
  const program = new Program()
  await program.next()
  assert.equal(await program.ask('dispose first'), 'disposed first')
  program.process.kill('SIGUSR1')
  assert.deepEqual([await program.next(), await program.next()], ['own USR1', 'b pause'])
  program.process.send('end')
  assert.equal(await program.next(), 'exit 0')
})

test(
  'I3: a target that throws does not keep the others from being notified, and its error is not lost',
  { skip },
  async () => {
    const program = new Program()
    await program.next()
    assert.equal(await program.ask('break first'), 'broken first')
    program.process.kill('SIGUSR1')
    assert.deepEqual(
      [await program.next(), await program.next(), await program.next()],
      ['own USR1', 'b pause', 'uncaught cannot pause'],
    )
    program.process.send('end')
    assert.equal(await program.next(), 'exit 0')
  },
)

test('I2: listeners of this process are added once, and not removed', { skip }, () => {
  const count = (): number[] => [process.listenerCount('SIGUSR1'), process.listenerCount('SIGUSR2')]
  const target = { pause: () => {}, resume: () => {} }
  const first = controlBySignals(target)
  const afterFirst = count()
  const second = controlBySignals(target)
  assert.equal(second.active, true)
  assert.equal(second.reason, undefined)
  first[Symbol.dispose]()
  first[Symbol.dispose]()
  second[Symbol.dispose]()
  assert.deepEqual(count(), afterFirst)
})

test('seed 000 problem 9: signal handlers in non-main thread are skipped with a reason', async () => {
  const source = `
    const { parentPort } = require('node:worker_threads')
    import(${JSON.stringify(new URL('../../src/control/signals.ts', import.meta.url).href)}).then(({ controlBySignals }) => {
      const control = controlBySignals({ pause() {}, resume() {} })
      parentPort.postMessage({ active: control.active, reason: control.reason, listeners: process.listenerCount('SIGUSR1') })
    })`
  const worker = new Worker(source, { eval: true })
  const [seen] = (await once(worker, 'message')) as [unknown]
  assert.deepEqual(seen, {
    active: false,
    reason: 'signals reach only the main thread',
    listeners: 0,
  })
})

test(
  'seed 000 problem 9: signal handlers outside of the main thread leave those of the main thread working',
  { skip },
  async () => {
    const program = new Program()
    await program.next()
    assert.equal(await program.ask('thread'), 'thread skipped: signals reach only the main thread')
    program.process.kill('SIGUSR1')
    assert.deepEqual(
      [await program.next(), await program.next(), await program.next()],
      ['own USR1', 'a pause', 'b pause'],
    )
    program.process.send('end')
    assert.equal(await program.next(), 'exit 0')
  },
)
