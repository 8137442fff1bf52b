import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemKernel } from '@heddle/core/lowlevel'
import { SendTurns } from '../../src/http/send-bytes.ts'

const { clock } = systemKernel
const nextTurn = (): Promise<void> => new Promise((done) => clock.afterIo(done))

test('S2 at most 32 begin in one turn, in the order in which they came, and none is forgotten', async () => {
  const turns = new SendTurns(clock)
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
