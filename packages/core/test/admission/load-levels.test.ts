import assert from 'node:assert/strict'
import { test } from 'node:test'
import { LoadLevels, highestLoad, sixLevels, threeLevels } from '../../src/admission/load-levels.ts'
import { withCode } from '../sync/support.ts'

test('S47 the default preset: loaded below 50 %, overloaded to 75 %, full and refused above', () => {
  const cases = [
    [0, 'loaded', false],
    [0.3, 'loaded', false],
    [0.5, 'overloaded', false],
    [0.6, 'overloaded', false],
    [0.75, 'overloaded', false],
    [0.76, 'full', true],
    [0.8, 'full', true],
    [1, 'full', true],
    [2, 'full', true],
  ] as const
  for (const [utilisation, level, refused] of cases) {
    assert.equal(threeLevels.of(utilisation), level)
    assert.equal(threeLevels.refuses(utilisation), refused)
  }
})

test('S47 the six labels follow from the load', () => {
  const cases = [
    [0, 'idle'],
    [0.01, 'lightly loaded'],
    [0.3, 'loaded'],
    [0.6, 'heavily loaded'],
    [0.8, 'overloaded'],
    [0.98, 'overloaded'],
    [0.99, 'full'],
    [1, 'full'],
  ] as const
  for (const [utilisation, label] of cases) assert.equal(sixLevels.of(utilisation), label)
  assert.deepEqual([sixLevels.refuses(0.98), sixLevels.refuses(0.99)], [false, true])
})

test('own levels refuse from the named one on', () => {
  const levels = new LoadLevels({
    levels: [{ name: 'green', below: 0.2 }, { name: 'amber', below: 0.9 }, { name: 'red' }],
    refuseAt: 'amber',
  })
  assert.deepEqual(
    [0.1, 0.5, 0.95].map((u) => levels.refuses(u)),
    [false, true, true],
  )
})

test('a level that is not there cannot refuse', () => {
  assert.throws(
    () => new LoadLevels({ levels: [{ name: 'green' }], refuseAt: 'red' }),
    withCode('HDL_BAD_OPTION'),
  )
})

test('the load of several queues is that of the fullest', () => {
  const load = (utilisation: number) => ({
    utilisation,
    level: threeLevels.of(utilisation),
    label: sixLevels.of(utilisation),
    refusing: threeLevels.refuses(utilisation),
  })
  assert.equal(highestLoad([load(0.2), load(0.8), load(0.5)])?.level, 'full')
  assert.equal(highestLoad([]), undefined)
})
