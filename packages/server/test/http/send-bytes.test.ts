import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemKernel } from '@heddle/core/lowlevel'
import { SendTurns, inTurns } from '../../src/http/send-bytes.ts'

const { clock } = systemKernel
const nextTurn = (): Promise<void> => new Promise((done) => clock.afterIo(done))

test('S2 at most 32 begin in one turn, in the order in which they came, and none is forgotten', async () => {
  const turns = new SendTurns(clock, 32)
  const begun: number[] = []
  const all = Array.from({ length: 100 }, async (_, number) => {
    if (!turns.tryEnter()) await turns.wait()
    begun.push(number)
  })
  const counts: number[] = []
  while (begun.length < 100) {
    counts.push(begun.length)
    await nextTurn()
  }
  await Promise.all(all)
  assert.deepEqual(begun, [...begun.keys()])
  assert.ok(
    counts.every((count, at) => at === 0 || count - counts[at - 1]! <= 32),
    String(counts),
  )
  // Afterwards there is room at once.
  await nextTurn()
  assert.ok(turns.tryEnter())
})

test('S2 a turn that is out of time begins no answer, and only some of the waiting ones', () => {
  let now = 0
  let next: () => void = () => undefined
  const stopped = { ...clock, now: () => now, afterIo: (turn: () => void) => (next = turn) }
  const turns = new SendTurns(stopped, 32, 8, 4)
  const enter = (): boolean => {
    const isLet = turns.tryEnter()
    now++
    return isLet
  }
  assert.deepEqual(Array.from({ length: 6 }, enter), [true, true, true, true, false, false])
  for (let n = 0; n < 20; n++) void turns.wait()
  const left: number[] = []
  for (let n = 0; n < 4; n++) {
    next()
    left.push(turns.waiting)
  }
  assert.deepEqual(left, [12, 4, 0, 0])
  assert.ok(turns.tryEnter())
})

test('S3 of a thousand readers of large answers 16 get a piece in one turn, first come, first served', async () => {
  const turns = new SendTurns(clock, 16)
  const sent: number[] = []
  const reader = async (number: number): Promise<void> => {
    for await (const piece of inTurns(['first', 'second'], turns)) {
      sent.push(piece === 'first' ? number : number + 1_000)
    }
  }
  const all = Promise.all(Array.from({ length: 1_000 }, (_, number) => reader(number)))
  // Lets the answers arrive and begin.
  await nextTurn()
  const counts: number[] = []
  while (sent.length < 2_000) {
    counts.push(sent.length)
    await nextTurn()
  }
  await all
  assert.deepEqual(sent, [...sent.keys()])
  assert.ok(
    counts.every((count, at) => at === 0 || count - counts[at - 1]! <= 16),
    String(counts),
  )
})
