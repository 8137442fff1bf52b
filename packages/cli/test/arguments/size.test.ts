import assert from 'node:assert/strict'
import { test } from 'node:test'
import { formatSize, parseBytes, parseSize } from '../../src/arguments/size.ts'

test('bytes are parsed with and without a unit, other text is refused', () => {
  assert.deepEqual(
    ['67108864', '64MiB', '64 mib', '1.5KiB', '2GiB', '64MB'].map(parseBytes),
    [67_108_864, 67_108_864, 67_108_864, 1_536, 2_147_483_648, 64_000_000],
  )
  for (const text of ['', '0', '-1', '64M', 'MiB', '1e3', 'Infinity', '99999999999999999GiB']) {
    assert.throws(() => parseBytes(text), /Expected a number of bytes/, text)
  }
})

test('a size is bytes that are typed with a unit', () => {
  for (const text of ['500MB', '1.5GB', '64MiB', '5mb', '2TiB']) {
    assert.equal(parseSize(text), parseBytes(text), text)
  }
  for (const text of ['', '500', '0MB', '-1MB', '5M']) {
    assert.throws(() => parseSize(text), /500MB/, text)
  }
})

test('a size is printed in the form that can be typed', () => {
  for (const text of ['64MB', '2GB', '1500MB', '12kB', '1.001kB', '64MiB', '3TiB']) {
    assert.equal(formatSize(parseSize(text)), text)
  }
})
