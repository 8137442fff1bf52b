import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { HeddleError } from '../../src/errors.ts'
import { cellsPerRow, type BatchWire } from '../../src/journal/batch.ts'
import { Outbox } from '../../src/journal/outbox.ts'
import { VirtualClock } from '../../src/kernel/virtual-clock.ts'

const failure = (cause = 'disk full'): HeddleError =>
  new HeddleError('HDL_STORE_FAILED', { store: 'x.db', action: 'be written', cause })

/** After the promise reactions of this turn, when rows have been sent. */
const turn = (): Promise<void> => new Promise((done) => setImmediate(done))

class Rig {
  readonly clock = new VirtualClock()
  readonly sent: BatchWire[] = []
  /** Batches by turn of the loop. */
  readonly turns: number[] = []
  readonly outbox = new Outbox({
    clock: this.clock,
    send: (batch) => this.sent.push(batch),
  })

  add(attempt: number, detail: string | null = null): void {
    this.outbox.add(1, 0, 'a', 2, attempt, 0, detail)
  }

  /** Acknowledges what has been sent. */
  settle(): void {
    this.outbox.onDurable(this.sent.at(-1)!.batch)
  }

  rowsSent(): number {
    return this.sent.reduce((sum, { rows }) => sum + rows.length / cellsPerRow, 0)
  }
}

test('O1: rows of one turn are sent together, in numbered batches', async () => {
  const rig = new Rig()
  for (let i = 0; i < 5; i++) rig.add(i)
  assert.equal(rig.sent.length, 0)
  await turn()
  for (let i = 5; i < 8; i++) rig.add(i)
  await turn()
  assert.deepEqual(
    rig.sent.map(({ batch, rows }) => [batch, rows.length / cellsPerRow]),
    [
      [1, 5],
      [2, 3],
    ],
  )
  rig.settle()
  assert.deepEqual(rig.outbox.counts, { rows: 8, commits: 1 })
})

test('rows that no caller waits for are sent with those that follow in the same turn', async () => {
  const rig = new Rig()
  rig.add(1)
  // Like the start of a run, after its first rows.
  await new Promise<void>((done) => process.nextTick(done))
  rig.add(2)
  void rig.outbox.durable()
  await turn()
  assert.deepEqual(
    rig.sent.map(({ rows }) => rows.length / cellsPerRow),
    [2],
  )
})

test('O2: waiters are notified when their batch is durable, not before and not with another', async () => {
  const rig = new Rig()
  const told: string[] = []
  const wait = (name: string): void => void rig.outbox.durable().then(() => told.push(name))
  wait('nothing pending')
  rig.add(1)
  wait('first')
  await turn()
  assert.deepEqual(told, ['nothing pending'])
  rig.add(2)
  wait('second')
  await turn()
  wait('second too')
  rig.outbox.onDurable(1)
  await turn()
  assert.deepEqual(told, ['nothing pending', 'first'])
  rig.outbox.onDurable(2)
  await turn()
  assert.deepEqual(told, ['nothing pending', 'first', 'second', 'second too'])
})

test('O2, O3: a failure is reported to all waiting callers, wherever their rows are, and nothing is sent any more', async () => {
  const rig = new Rig()
  rig.add(1)
  const sent = rig.outbox.durable()
  await turn()
  for (let i = 0; i < 3000; i++) rig.add(i)
  const gathering = rig.outbox.durable()
  const many = 40_000
  for (let i = 0; i < many; i++) rig.add(i)
  const room = rig.outbox.waitRoom('The journal', {})
  rig.outbox.fail(failure())
  for (const each of [sent, gathering, room, rig.outbox.durable()]) {
    await assert.rejects(each, { code: 'HDL_STORE_FAILED' })
  }
  const before = rig.sent.length
  rig.outbox.fail(failure('a consequence'))
  rig.add(9)
  rig.outbox.change({ type: 'leave', run: 1 })
  await turn()
  assert.equal(rig.sent.length, before)
  assert.match(rig.outbox.failure!.message, /disk full/)
  assert.equal(rig.outbox.pending, 0)
  assert.equal(rig.outbox.isFailureReported, true)
  // An acknowledgement that was on its way changes nothing.
  rig.outbox.onDurable(1)
  assert.equal(rig.outbox.pending, 0)
})

test('a failure that no caller waited for counts as unreported until a caller asks', async () => {
  const rig = new Rig()
  rig.add(1)
  rig.outbox.fail(failure())
  assert.equal(rig.outbox.isFailureReported, false)
  await assert.rejects(rig.outbox.durable(), { code: 'HDL_STORE_FAILED' })
  assert.equal(rig.outbox.isFailureReported, true)
})

test('O4: rows in the thread are bounded; the rest follows as room is made', async () => {
  const rig = new Rig()
  const total = 60_000
  for (let i = 0; i < total; i++) rig.add(i)
  assert.equal(rig.outbox.pending, total)
  assert.equal(rig.outbox.hasRoom, false)
  for (let i = 0; i < 20; i++) await turn()
  assert.ok(rig.rowsSent() < 20_000, `${rig.rowsSent()} rows were sent`)
  while (rig.outbox.pending > 0) {
    rig.settle()
    for (let i = 0; i < 20; i++) await turn()
  }
  assert.equal(rig.rowsSent(), total)
  assert.equal(rig.outbox.hasRoom, true)
  const attempts = rig.sent.flatMap(({ rows }) =>
    rows.filter((_, cell) => cell % cellsPerRow === 4),
  )
  assert.deepEqual(
    attempts,
    attempts.map((_, index) => index),
  )
})

test('O4: long details count as well as many rows', async () => {
  const rig = new Rig()
  const detail = 'x'.repeat(64 * 1024)
  for (let i = 0; i < 2000; i++) rig.add(i, detail)
  assert.equal(rig.outbox.hasRoom, false)
  for (let i = 0; i < 50; i++) await turn()
  assert.ok(rig.rowsSent() < 300, `${rig.rowsSent()} rows of 64 KiB were sent`)
})

test('O5: a flood is sent over several turns of the loop', async () => {
  const rig = new Rig()
  for (let i = 0; i < 16_000; i++) rig.add(i)
  const perTurn: number[] = []
  for (let before = 0; before < 16_000; before = rig.rowsSent()) {
    await turn()
    perTurn.push(rig.rowsSent() - before)
  }
  assert.ok(perTurn.length > 1)
  assert.ok(perTurn.every((rows) => rows <= 8 * 1024 + 1024))
})

test('a caller that waits for room is woken when there is some, or gives up', async () => {
  const rig = new Rig()
  await rig.outbox.waitRoom('The journal', {})
  for (let i = 0; i < 33_000; i++) rig.add(i)
  const patient = rig.outbox.waitRoom('The journal', {})
  const impatient = rig.outbox.waitRoom('The journal', { deadline: 50 })
  const hasty = assert.rejects(impatient, { code: 'HDL_TIMEOUT' })
  await rig.clock.advance(50)
  await hasty
  assert.equal(rig.clock.pending, 0)
  for (let i = 0; i < 5; i++) await turn()
  rig.settle()
  await patient
})

test('results and changes travel with the row they belong to', async () => {
  const rig = new Rig()
  for (let i = 0; i < 1023; i++) rig.add(i)
  const body = (...bytes: number[]): { body: Uint8Array<ArrayBuffer> } => ({
    body: new Uint8Array(bytes),
  })
  rig.outbox.add(1, 1, 'a', 4, 0, 0, null, body(1, 2))
  rig.outbox.add(1, 1, 'b', 4, 0, 0, null, { file: 'f00' })
  rig.outbox.add(1, 1, 'c', 4, 0, 0, null, body())
  rig.outbox.add(1, 1, 'd', 4, 0, 0, null, body(3), { type: 'leave', run: 1 })
  await turn()
  const [full, rest] = rig.sent
  assert.deepEqual([full?.results, full?.bodies], [[1023, 2], new Uint8Array([1, 2])])
  assert.deepEqual([rest?.results, rest?.bodies], [[0, 'f00', 1, 0, 2, 1], new Uint8Array([3])])
  assert.deepEqual([full?.changes, rest?.changes], [[], [{ type: 'leave', run: 1 }]])
})

test('O1, O2: whatever the order of turns, rows and acknowledgements, all rows are sent once and reported once', async () => {
  const step = fc.oneof(
    fc.record({ rows: fc.integer({ min: 1, max: 1500 }) }),
    fc.constantFrom('turn' as const, 'acknowledge' as const, 'wait' as const),
  )
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 30 }), async (steps) => {
      const rig = new Rig()
      let added = 0
      let waited = 0
      let told = 0
      for (const each of steps) {
        if (each === 'turn') await turn()
        else if (each === 'acknowledge') {
          if (rig.sent.length > 0) rig.settle()
        } else if (each === 'wait') {
          waited++
          void rig.outbox.durable().then(() => told++)
        } else for (let i = 0; i < each.rows; i++) rig.add(added++)
      }
      while (rig.outbox.pending > 0) {
        await turn()
        if (rig.sent.length > 0) rig.settle()
      }
      await turn()
      assert.equal(rig.rowsSent(), added)
      assert.equal(told, waited)
      const attempts = rig.sent.flatMap(({ rows }) => rows.filter((_, i) => i % cellsPerRow === 4))
      assert.ok(attempts.every((attempt, index) => attempt === index))
      assert.ok(rig.sent.every(({ batch }, index) => batch === index + 1))
      assert.equal(rig.outbox.counts.rows, added)
    }),
    { numRuns: 40 },
  )
})
