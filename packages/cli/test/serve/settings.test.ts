import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isLoopback, parseWhole } from '../../src/serve/settings.ts'

test('a whole number in its bounds, and nothing else', () => {
  const port = parseWhole(0, 65_535)
  assert.deepEqual(['0', '4500', '65535'].map(port), [0, 4_500, 65_535])
  for (const text of ['', ' ', '-1', '65536', '1.5', 'http', 'Infinity']) {
    assert.throws(() => port(text), /Expected a whole number from 0 to 65535\./)
  }
})

test('which addresses only this machine can reach', () => {
  for (const host of ['127.0.0.1', '127.1.2.3', '::1', '0:0:0:0:0:0:0:1', 'localhost']) {
    assert.equal(isLoopback(host), true, host)
  }
  for (const host of [
    '0.0.0.0',
    '::',
    '192.168.1.5',
    '128.0.0.1',
    'example.org',
    '::2',
    'fe80::1',
  ]) {
    assert.equal(isLoopback(host), false, host)
  }
})
