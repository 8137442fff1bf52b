import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseBytes, parseWhole } from '../../src/serve/settings.ts'

test('a whole number in its bounds, and nothing else', () => {
  const port = parseWhole(0, 65_535)
  assert.deepEqual(['0', '4500', '65535'].map(port), [0, 4_500, 65_535])
  for (const text of ['', ' ', '-1', '65536', '1.5', 'http', 'Infinity']) {
    assert.throws(() => port(text), /Expected a whole number from 0 to 65535\./)
  }
})

test('bytes with and without a unit, and nothing else', () => {
  assert.deepEqual(
    ['67108864', '64MiB', '64 mib', '1.5KiB', '2GiB'].map(parseBytes),
    [67_108_864, 67_108_864, 67_108_864, 1_536, 2_147_483_648],
  )
  for (const text of ['', '0', '-1', '64MB', 'MiB', '1e3', 'Infinity', '99999999999999999GiB']) {
    assert.throws(() => parseBytes(text), /Expected a number of bytes/, text)
  }
})
