import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  cellsPerRow,
  inlineLimit,
  type BatchWire,
  type StoredValue,
} from '../../src/journal/batch.ts'
import { Outbox } from '../../src/journal/outbox.ts'
import { Kind } from '../../src/journal/rows.ts'
import { RowWriter, type WriterHost } from '../../src/journal/run-writer.ts'
import { ValueFiles } from '../../src/journal/sqlite/value-files.ts'
import { systemKernel } from '../../src/kernel/kernel.ts'
import { Recorder } from '../../src/run/recorder.ts'

const turn = (): Promise<void> => new Promise((done) => setImmediate(done))

/** A writer without a thread. */
class Rig {
  readonly sent: BatchWire[] = []
  readonly outbox = new Outbox({
    clock: systemKernel.clock,
    send: (batch) => this.sent.push(batch),
  })
  closed = 0
  readonly writer: RowWriter

  constructor(values?: WriterHost['values']) {
    this.writer = new RowWriter('r', 1, {
      clock: systemKernel.clock,
      side: {
        outbox: this.outbox,
        session: 1,
        persist: (work) => work(),
        addWriter: () => undefined,
        removeWriter: () => undefined,
      },
      values:
        values ?? new ValueFiles('nowhere.db', { durability: 'process', kernel: systemKernel }),
      onClosed: () => this.closed++,
    })
  }

  log(text: string): boolean {
    return this.writer.log({ node: 'a', attempt: 0, at: 1, text })
  }

  /** All added rows become durable. */
  async drain(): Promise<void> {
    while (this.outbox.pending > 0) {
      await turn()
      if (this.sent.length > 0) this.outbox.onDurable(this.sent.at(-1)!.batch)
    }
    await turn()
  }

  /** The nodes of all rows. */
  rows(): unknown[] {
    return this.sent.flatMap(({ rows }) => rows.filter((_, cell) => cell % cellsPerRow === 2))
  }

  /** Numbers of the messages that were removed. */
  removed(): number[] {
    const changes = this.sent.flatMap((batch) => batch.changes)
    return changes.flatMap((change) => (change.type === 'taken' ? [change.mail] : []))
  }

  lines(): string[] {
    const found: string[] = []
    for (const { rows } of this.sent) {
      for (let i = 0; i < rows.length; i += cellsPerRow) {
        if (rows[i + 1] === Kind.log) found.push(rows[i + 6] as string)
      }
    }
    return found
  }
}

test('law 4: log lines are refused when there is no room, and a row with their number takes their place', async () => {
  const rig = new Rig()
  let taken = 0
  while (rig.log(`line ${taken}`)) taken++
  assert.ok(taken > 10_000)
  for (let i = 0; i < 6; i++) assert.equal(rig.log('refused'), false)
  await rig.drain()
  assert.equal(rig.log('room again'), true)
  await rig.drain()
  assert.deepEqual(rig.lines().slice(-3), [
    `line ${taken - 1}`,
    '(7 lines are missing here: the journal was behind)',
    'room again',
  ])
  assert.equal(rig.lines().length, taken + 2)
})

test('law 4: lines that were refused before the end are counted at the end', async () => {
  const rig = new Rig()
  while (rig.log('line')) continue
  rig.writer.setState('finished', 5)
  await rig.drain()
  assert.equal(rig.lines().at(-1), '(1 line is missing here: the journal was behind)')
  const other = new Rig()
  while (other.log('line')) continue
  const closing = other.writer[Symbol.asyncDispose]()
  await other.drain()
  other.outbox.onDurable(Infinity)
  await closing
  assert.equal(other.lines().at(-1), '(1 line is missing here: the journal was behind)')
  assert.equal(other.closed, 1)
})

test('transitions are accepted even when there is no room: an event that happened cannot be refused', async () => {
  const rig = new Rig()
  while (rig.log('line')) continue
  const before = rig.outbox.pending
  for (let i = 0; i < 1000; i++) {
    rig.writer.append({ node: 'a', state: 'running', attempt: i, at: 1 })
  }
  assert.equal(rig.outbox.pending, before + 1000)
  await rig.drain()
})

test('J9: a signal is removed with the row that records its delivery, not with a start before it', async () => {
  const stored = Promise.withResolvers<StoredValue>()
  const rig = new Rig({ store: () => stored.promise })
  const recorder = new Recorder(rig.writer, systemKernel.clock)
  let mail: number | undefined
  rig.writer.watch({ onMessage: (_, number) => (mail = number) })
  rig.writer.onMessage({ kind: 'signal', name: 'go', value: 1, by: 'a test' }, 7)
  // Held back until its input is made, or something else is written.
  recorder.observe({ type: 'node', at: 1, name: 'b', state: 'running', attempt: 1 })
  // Too large for a row: it is stored first, and the process may die meanwhile.
  const delivered = 'x'.repeat(2 * inlineLimit)
  const done = recorder.partSucceeded('a', 1, { path: 'wait:go#0' }, delivered, undefined, mail)
  await rig.drain()
  assert.deepEqual(rig.rows(), ['b'])
  assert.deepEqual(rig.removed(), [])
  stored.resolve({ file: 'a file' })
  while (rig.removed().length === 0) await turn()
  await rig.drain()
  await done
  assert.deepEqual(rig.rows(), ['b', 'a'])
  assert.deepEqual(rig.removed(), [7])
})
