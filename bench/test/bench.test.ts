import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { holdMachine } from '../harness/machine-lock.ts'
import type { RowResult } from '../harness/row.ts'
import { takeOwnLock } from './own-lock.ts'

const ownLock = takeOwnLock()

const main = fileURLToPath(new URL('../main.ts', import.meta.url))

interface Outcome {
  readonly code: number | string | null | undefined
  readonly stdout: string
  readonly stderr: string
}

function bench(...args: string[]): Promise<Outcome> {
  return new Promise((resolve) => {
    execFile(
      process.execPath,
      ['--conditions=heddle-source', main, ...args],
      (error, stdout, stderr) => resolve({ code: error === null ? 0 : error.code, stdout, stderr }),
    )
  })
}

test('--json prints one array of rows and nothing else', async () => {
  const { code, stdout, stderr } = await bench('engine', '--json', '--quick', '--only', 'cache hit')
  assert.equal(code, 0, stderr)
  const rows = JSON.parse(stdout) as RowResult[]
  assert.equal(rows.length, 1)
  const row = rows[0]!
  assert.equal(row.name, 'cache hit')
  assert.equal(row.unit, 'hits/s')
  assert.deepEqual(Object.keys(row.peers), ['lru-cache'])
  for (const figure of [row.ours, row.ratio, row.loopGapMs, row.rssMb, row.peers['lru-cache']]) {
    assert.ok(typeof figure === 'number' && figure >= 0, `${figure} is a figure`)
  }
  assert.deepEqual(row.notes, [])
  for (const { load, cores } of [row.machine.atStart, row.machine.atEnd]) {
    assert.equal(load.length, 3)
    assert.ok(cores >= 1)
  }
})

test('a bench waits until another one has ended, and reports which', async () => {
  const other = await holdMachine({
    file: ownLock,
    command: 'bench of another checkout',
    onWait: assert.fail,
  })
  const { promise: waiting, resolve: reportWaiting } = Promise.withResolvers<string>()
  const second = holdMachine({ file: ownLock, command: 'bench engine', onWait: reportWaiting })
  assert.match(await waiting, /bench of another checkout/)
  await other.release()
  await (await second).release()
})

test('without --json a table names every entrant', async () => {
  const { code, stdout, stderr } = await bench('engine', '--quick', '--only', 'cache hit')
  assert.equal(code, 0, stderr)
  assert.match(stdout, /^cache hit \(more is better\)$/m)
  assert.match(stdout, /^ {2}heddle .* hits\/s/m)
  assert.match(stdout, /^ {2}lru-cache .* hits\/s .* x/m)
  assert.match(stdout, /^at the start: load [\d. ]+ on \d+ cores$/m)
  assert.match(stdout, /^at the end: {3}load [\d. ]+ on \d+ cores$/m)
})

test('an unknown suite is refused with the list of suites', async () => {
  const { code, stdout, stderr } = await bench('motor')
  assert.equal(code, 2)
  assert.equal(stdout, '')
  assert.match(stderr, /there is no suite motor; there is: .*engine/)
})

test('a filter that matches no row is refused with the list of rows', async () => {
  const { code, stderr } = await bench('engine', '--only', 'nothing like this')
  assert.equal(code, 2)
  assert.match(stderr, /rows: chain 10k, fan 100k/)
})

test('an unknown option is refused', async () => {
  const { code, stderr } = await bench('engine', '--fast')
  assert.equal(code, 2)
  assert.match(stderr, /--fast/)
})

test('a bench that is ended early prints the rows that it has played', async () => {
  const rows = ['--only', 'cache hit', '--only', 'chain']
  const child = spawn(
    process.execPath,
    ['--conditions=heddle-source', main, 'engine', '--json', '--quick', ...rows],
    { stdio: ['ignore', 'pipe', 'ignore'] },
  )
  let printed = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    printed += text
    // The first row is there; others are to come.
    if (printed.includes('"machine"')) child.kill('SIGTERM')
  })
  const [code] = (await once(child, 'close')) as [number]
  assert.equal(code, 130)
  const played = JSON.parse(printed) as RowResult[]
  assert.ok(played.length >= 1)
})
