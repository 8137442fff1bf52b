import assert from 'node:assert/strict'
import test from 'node:test'
import { resumeAttempt, shield, suspendAttempt } from '../../src/attempts/attempt.ts'
import { Entry, Kit } from './kit.ts'

/** All orders of a list. */
function* orders<T>(items: readonly T[]): Generator<readonly T[]> {
  if (items.length === 0) yield []
  for (const [index, item] of items.entries()) {
    for (const rest of orders(items.toSpliced(index, 1))) yield [item, ...rest]
  }
}

/** What can happen to a running attempt between its start and its end, from different callers. */
const happenings = {
  settle: (entry: Entry) => entry.gates[0]!.resolve(1),
  abort: (entry: Entry, kit: Kit) => void kit.runner.abort(entry.attempts[0]!, new Error('stop')),
  suspend: (entry: Entry) => void suspendAttempt(entry.attempts[0]!),
  resume: (entry: Entry) => void resumeAttempt(entry.attempts[0]!).catch(() => undefined),
  shield: (entry: Entry) => void shield(entry.attempts[0]!),
  close: (_: Entry, kit: Kit) => {
    kit.isOpen = false
  },
} satisfies Record<string, (entry: Entry, kit: Kit) => void>

type Happening = keyof typeof happenings

test('A1 A3 A5 A7: in every order, with and without a turn of the loop between two of them', async () => {
  const all = Object.keys(happenings) as Happening[]
  let played = 0
  for (const order of orders(all)) {
    for (const isSpaced of [false, true]) {
      const kit = new Kit({ permits: 1, abortGrace: 100 })
      const entry = kit.submit(new Entry('entry', { retries: 1, timeout: 50 }))
      const other = kit.submit(new Entry('other'))
      const label = `${order.join(', ')}${isSpaced ? ', a turn between' : ''}`
      for (const happening of order) {
        happenings[happening](entry, kit)
        if (isSpaced) await kit.clock.settle()
        assert.equal(entry.held, entry.current && !entry.current.suspension ? 1 : 0, `A3: ${label}`)
      }
      await kit.clock.settle()
      kit.isOpen = true
      kit.runner.pump()
      await kit.clock.advance(1_000)
      other.gates.at(-1)?.resolve(1)
      entry.gates.at(-1)!.resolve(1)
      await kit.clock.advance(1_000)
      other.gates.at(-1)?.resolve(1)
      await kit.clock.advance(1_000)
      assert.equal(other.end, 'succeeded', label)
      // The abort decides if it came before the end and before the shield.
      const at = (happening: Happening): number => order.indexOf(happening)
      const isEndedFirst = isSpaced && at('settle') < at('abort')
      const isAborted = at('abort') < at('shield') && !isEndedFirst
      assert.equal(entry.end, isAborted ? 'cancelled' : 'succeeded', label)
      assert.deepEqual([entry.attempts.length, kit.room.used, kit.room.size], [1, 0, 0], label)
      kit.runner.releaseTimers()
      assert.deepEqual([kit.runner.suspended, kit.clock.pending], [0, 0], label)
      played++
    }
  }
  assert.equal(played, 1_440)
})

test('A6: an attempt that settles in the step in which its grace is over ends once', async () => {
  for (const isSettledFirst of [true, false]) {
    const kit = new Kit({ abortGrace: 100 })
    const entry = kit.submit(new Entry('entry'))
    // One timer before that of the runner, one behind it, all for the same moment.
    if (isSettledFirst) kit.clock.setTimer(100, () => entry.gate.resolve(1))
    kit.runner.abort(entry.current!, new Error('stop'))
    if (!isSettledFirst) kit.clock.setTimer(100, () => entry.gate.resolve(1))
    await kit.clock.advance(100)
    assert.equal(entry.end, 'cancelled')
    assert.equal(kit.runner.abandoned, isSettledFirst ? 0 : 1)
    assert.deepEqual([kit.room.used, kit.clock.pending], [0, 0])
  }
})

test('a back-off that is over in the step in which its entry is withdrawn: one of the two wins', async () => {
  for (const isWithdrawnFirst of [true, false]) {
    const kit = new Kit()
    const entry = kit.submit(new Entry('entry', { retries: 1 }))
    await kit.reject(entry)
    const withdrawn: boolean[] = []
    const withdraw = (): void => void withdrawn.push(kit.runner.withdrawBackoff(entry))
    if (isWithdrawnFirst) kit.clock.setTimer(999.9, withdraw)
    else kit.clock.setTimer(1_000, withdraw)
    await kit.clock.advance(2_000)
    assert.deepEqual(withdrawn, [isWithdrawnFirst])
    assert.equal(entry.attempts.length, isWithdrawnFirst ? 1 : 2)
  }
})
