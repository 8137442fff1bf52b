import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { openCollector, turnsUntilReported } from '../../src/kernel/collector.ts'

/** Makes garbage until the collector has worked, as far as it is reported. */
async function collect(worked: () => boolean): Promise<void> {
  while (!worked()) {
    Array.from({ length: 100_000 }, (_, index) => ({ index }))
    for (let turns = 0; turns < turnsUntilReported; turns++) await turn()
  }
}

test('the time of pauses is counted inside the asked interval only', async () => {
  using collector = openCollector()
  const from = performance.now()
  await collect(() => collector.within(from, performance.now()) > 0)
  const to = performance.now()
  const sum = collector.within(from, to)
  assert.ok(sum > 0 && sum <= to - from, `${sum} ms of ${to - from}`)
  assert.equal(collector.within(to + 1000, to + 2000), 0)
  const middle = from + (to - from) / 2
  const halves = collector.within(from, middle) + collector.within(middle, to)
  assert.ok(Math.abs(halves - sum) < 1e-6, `${halves} ms in two halves, ${sum} ms as one`)
})

test('after its disposal it reports no pause', async () => {
  const other = openCollector()
  const collector = openCollector()
  collector[Symbol.dispose]()
  const from = performance.now()
  await collect(() => other.within(from, performance.now()) > 0)
  assert.equal(collector.within(from, performance.now()), 0)
  other[Symbol.dispose]()
})
