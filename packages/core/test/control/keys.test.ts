import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { PassThrough } from 'node:stream'
import { after, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { listenKeys, type KeyInput } from '../../src/control/keys.ts'
import { Terminal, whyNoTerminal } from './terminal.ts'

const skip = whyNoTerminal()
const fixture = fileURLToPath(new URL('./fixtures/keyed.ts', import.meta.url))
const program = `'${process.execPath}' '${fixture}'`
/** Printed by the shell when the program is over. */
const afterwards = `echo "code $?"; stty -a | grep -q -- -icanon && echo left raw || echo left cooked`

const terminals = new Set<Terminal>()
after(() => {
  for (const terminal of terminals) terminal.kill()
})
function open(script: string): Terminal {
  const terminal = new Terminal(script)
  terminals.add(terminal)
  return terminal
}

/** Like a terminal's input, as far as it is used. */
class FakeTerminal extends PassThrough {
  isTTY = true as const
  isRaw = false
  refs = 0
  setRawMode(raw: boolean): this {
    this.isRaw = raw
    return this
  }
  ref(): this {
    this.refs++
    return this
  }
  unref(): this {
    this.refs--
    return this
  }
}
const asInput = (fake: FakeTerminal): KeyInput => fake as unknown as KeyInput
const watched = ['data', 'end', 'close', 'error'] as const
const listeners = (fake: FakeTerminal): number[] => [
  ...watched.map((event) => fake.listenerCount(event)),
  process.listenerCount('exit'),
  process.listenerCount('SIGCONT'),
]
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

test(
  'keys in a terminal arrive one by one, Ctrl+C as a key; dispose gives the terminal back',
  { skip },
  async () => {
    const terminal = open(`${program} dispose; ${afterwards}`)
    await terminal.see('active true')
    terminal.type('p')
    await terminal.see('key p\n')
    terminal.type('m')
    await terminal.see('mode raw')
    terminal.type('\x03')
    await terminal.see('key ctrl-c\n')
    terminal.type('\x1b[A')
    await terminal.see('key up\n')
    terminal.type('q')
    await terminal.see('key q\n')
    await terminal.see('code 0\n')
    await terminal.see('left cooked\n')
    await terminal.closed()
  },
)

test(
  'seed 000 problem 7: keyboard input blocking shutdown: a program that is done ends while it listens',
  { skip },
  async () => {
    const terminal = open(`${program} idle; ${afterwards}`)
    await terminal.see('active true')
    await terminal.see('code 0\n')
    await terminal.see('left cooked\n')
    await terminal.closed()
  },
)

for (const [ending, code] of [
  ['exit', 130],
  ['throw', 1],
  ['signal', 143],
] as const) {
  test(
    `seed 000 problem 7: keyboard input blocking shutdown: the terminal is restored after ${ending}`,
    { skip },
    async () => {
      const terminal = open(`${program} ${ending}; ${afterwards}`)
      await terminal.see('active true')
      terminal.type('q')
      await terminal.see(`code ${code}\n`)
      await terminal.see('left cooked\n')
      await terminal.closed()
    },
  )
}

test('seed 000 problem 7: keyboard input blocking shutdown: closing does not wait for a key', async () => {
  const input = new FakeTerminal()
  const before = listeners(input)
  const keys: string[] = []
  const listener = listenKeys(asInput(input), (key) => keys.push(key))
  assert.equal(input.isRaw, true)
  assert.equal(input.refs, -1)
  listener[Symbol.dispose]()
  // I1, I2, I3: at once, without a turn of the loop in between.
  assert.equal(input.isRaw, false)
  assert.equal(input.refs, 0)
  assert.equal(input.isPaused(), true)
  assert.deepEqual(listeners(input), before)
  input.write('p')
  await turn()
  assert.deepEqual(keys, [])
})

test(
  'I1: Ctrl+Z suspends with the terminal restored; after fg it is raw again and keys work',
  { skip },
  async () => {
    const terminal = open(`set -m; ${program} dispose; ${afterwards}; fg >/dev/null; ${afterwards}`)
    await terminal.see('active true')
    terminal.type('\x1a')
    await terminal.see('left cooked\n')
    terminal.type('m')
    await terminal.see('mode raw')
    terminal.type('q')
    await terminal.see('code 0\n')
    await terminal.see('left cooked\n')
    await terminal.closed()
  },
)

test(
  'I1: a program that is stopped from outside is raw again when it is continued',
  { skip },
  async () => {
    const terminal = open(`set -m; ${program} dispose; ${afterwards}; fg >/dev/null; ${afterwards}`)
    await terminal.see('active true')
    const pid = Number(/pid (\d+)/.exec(terminal.output)![1])
    process.kill(pid, 'SIGSTOP')
    await terminal.see('code 147\n')
    terminal.type('m')
    await terminal.see('mode raw')
    terminal.type('q')
    await terminal.see('code 0\n')
    await terminal.closed()
  },
)

test('S57 without a terminal nothing is touched and the reason is reported', async () => {
  const run = promisify(execFile)
  const closed = await run('bash', ['-c', `${program} dispose <&-`])
  assert.match(closed.stdout, /active false the input is not a terminal/)
  const empty = spawn(process.execPath, [fixture, 'dispose'], {
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  assert.deepEqual(await once(empty, 'exit'), [0, null])

  const input = new FakeTerminal()
  input.destroy()
  const before = listeners(input)
  using listener = listenKeys(asInput(input), () => {})
  assert.deepEqual([listener.active, listener.reason], [false, 'the input is closed'])
  assert.deepEqual(listeners(input), before)
  assert.equal(input.isRaw, false)
})

test('I3: the end of the input closes the listener', async () => {
  const input = new FakeTerminal()
  const before = listeners(input)
  const listener = listenKeys(asInput(input), () => {})
  input.end()
  await once(input, 'end')
  assert.equal(listener.active, false)
  assert.equal(listener.reason, 'the input has ended')
  assert.equal(input.isRaw, false)
  assert.deepEqual(listeners(input), before)
})

test('an error of the input (the terminal was closed) ends the listening, not the process', () => {
  const input = new FakeTerminal()
  const listener = listenKeys(asInput(input), () => {})
  input.emit('error', new Error('EIO'))
  assert.equal(listener.active, false)
})

test('a key that closes the listener is the last one received', async () => {
  const input = new FakeTerminal()
  const keys: string[] = []
  const listener = listenKeys(asInput(input), (key) => {
    keys.push(key)
    if (key === 'q') listener[Symbol.dispose]()
  })
  input.write('pqr')
  await turn()
  assert.deepEqual(keys, ['p', 'q'])
})

test('an input that another reader uses keeps flowing, and stays raw if it was', async () => {
  const input = new FakeTerminal()
  input.setRawMode(true)
  const heard: string[] = []
  input.on('data', (chunk) => heard.push(String(chunk)))
  const listener = listenKeys(asInput(input), () => {})
  listener[Symbol.dispose]()
  assert.equal(input.isRaw, true)
  assert.equal(input.refs, 0)
  input.write('later')
  await turn()
  assert.deepEqual(heard, ['later'])
})

test('a character that arrives in two pieces is one key', async () => {
  const input = new FakeTerminal()
  const keys: string[] = []
  using _ = listenKeys(asInput(input), (key) => keys.push(key))
  const bytes = Buffer.from('é')
  input.write(bytes.subarray(0, 1))
  await turn()
  input.write(bytes.subarray(1))
  await turn()
  assert.deepEqual(keys, ['é'])
})

test('with suspend: false Ctrl+Z is a key', async () => {
  const input = new FakeTerminal()
  const keys: string[] = []
  using _ = listenKeys(asInput(input), (key) => keys.push(key), { suspend: false })
  input.write('\x1a')
  await turn()
  assert.deepEqual(keys, ['ctrl-z'])
})
