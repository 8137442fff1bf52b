import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { chooseBy, everyOrder } from './drive.ts'
import { explain, type Step } from './history.ts'
import { play, type Action, type PlayOptions, type Verb } from './play.ts'

const verbs: readonly Verb[] = ['get', 'set', 'delete', 'clear', 'update', 'compute', 'has']

/** Plays every order of these operations on a key that is on the tier and not in memory. */
function playAll(...names: readonly Verb[]): Promise<number> {
  const program = names.map((verb): Action => ({ verb, key: 'a' }))
  return everyOrder((choose) => play(program, choose, { stored: ['a'] }))
}

test('C1, C2, C5, C6: every order of any two operations has an explanation', async () => {
  let runs = 0
  for (const first of verbs) {
    for (const second of verbs) runs += await playAll(first, second)
  }
  assert.ok(runs > 300, `${runs} orders`)
})

test('C1, C2: every order of any three operations that read and change', async () => {
  const some: readonly Verb[] = ['get', 'set', 'delete', 'clear']
  let runs = 0
  for (const first of some) {
    for (const second of some) {
      for (const third of some) runs += await playAll(first, second, third)
    }
  }
  assert.ok(runs > 1000, `${runs} orders`)
})

const programs = fc.array(
  fc.record({ verb: fc.constantFrom(...verbs), key: fc.constantFrom('a', 'b') }),
  { minLength: 2, maxLength: 8 },
)
const picks = fc.array(fc.nat(1000), { maxLength: 60 })

/** Random programs on two keys, in random orders of tier operations. */
async function playRandom(numRuns: number, options: PlayOptions): Promise<void> {
  const property = fc.asyncProperty(
    programs,
    picks,
    fc.subarray(['a', 'b']),
    (program, by, stored) => play(program, chooseBy(by), { ...options, stored }),
  )
  await fc.assert(property, { numRuns })
}

test('C1 to C6: random programs have an explanation', async () => {
  await playRandom(600, { impatient: true })
})

test('C1, C2: also when memory holds nothing, so that every read is one of the tier', async () => {
  await playRandom(400, { maxBytes: 1, impatient: true })
})

test('B5: also when changes and reads wait for room', async () => {
  await playRandom(400, { maxPending: 1, maxReads: 1, impatient: true })
})

test('B4: also when the tier refuses: an entry that could not be written is deleted, and stays deleted', async () => {
  await playRandom(600, { failures: true, impatient: true })
})

test('C3: after a crash at any point everything acknowledged is there', async () => {
  const property = fc.asyncProperty(
    programs,
    picks,
    fc.subarray(['a', 'b']),
    (program, by, stored) => {
      let at = 0
      const choose = (count: number): number => (at < by.length ? by[at++]! % count : -1)
      return play(program, choose, { stored, crash: true })
    },
  )
  await fc.assert(property, { numRuns: 400 })
})

test('the checker notices a read that comes back after a delete', () => {
  type State = string | undefined
  const get = { name: 'get', start: 2, end: 3, isOptional: false }
  const old: Step<State> = { ...get, after: (state) => (state === 'old' ? [state] : []) }
  const remove = { name: 'delete', start: 0, end: 1, isOptional: false, after: () => [undefined] }
  assert.equal(explain<State>([remove, old], 'old'), undefined)
  // While they overlap, the read may come first.
  assert.deepEqual(explain<State>([{ ...remove, end: 2 }, old], 'old'), ['get', 'delete'])
})
