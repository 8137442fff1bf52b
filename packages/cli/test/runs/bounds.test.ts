import assert from 'node:assert/strict'
import { test } from 'node:test'
import { formatSize, parseAge, parseSize } from '../../src/runs/bounds.ts'

test('ages and sizes are typed with a unit', () => {
  assert.equal(parseAge('90min'), 90 * 60_000)
  assert.equal(parseAge('1.5h'), 5_400_000)
  assert.equal(parseAge('30d'), 30 * 86_400_000)
  assert.equal(parseAge('2w'), 14 * 86_400_000)
  assert.equal(parseSize('500MB'), 500_000_000)
  assert.equal(parseSize('1.5GB'), 1_500_000_000)
  for (const wrong of ['', '30', 'd', '-1d', '3 d', '1y']) {
    assert.throws(() => parseAge(wrong), /30d/)
  }
  for (const wrong of ['', '500', '5mb', '-1MB']) assert.throws(() => parseSize(wrong), /500MB/)
})

test('a size is printed as it is typed', () => {
  for (const text of ['64MB', '2GB', '1500MB', '12kB', '1.001kB']) {
    assert.equal(formatSize(parseSize(text)), text)
  }
})
