import assert from 'node:assert/strict'
import { test } from 'node:test'
import { browserClock, setServerTime } from '../../src/kernel/clock.ts'

test('a machine whose clock is wrong counts as the server does; small differences and no header change nothing', (t) => {
  t.mock.timers.enable({ apis: ['Date'], now: 1_800_000_000_000 })
  const at = (ahead: number): string => new Date(Date.now() + ahead).toUTCString()
  const expected: readonly (readonly [header: string | null, ahead: number])[] = [
    [at(-7_200_000), -7_200_000],
    [at(60_000), 60_000],
    [at(2_000), 0],
    [at(60_000), 60_000],
    [null, 0],
    ['nonsense', 0],
  ]
  for (const [header, ahead] of expected) {
    setServerTime(header)
    assert.equal(browserClock.wallTime() - Date.now(), ahead, String(header))
  }
})
