import assert from 'node:assert/strict'
import { test } from 'node:test'
import { normalise, withFingerprints } from '../../src/baseline/fingerprint.ts'
import type { Finding } from '../../src/finding.ts'
import { sampleFinding, sampleText, spanOf } from '../support/sample.ts'

function named(text: string, changes: Partial<Finding> = {}): string {
  const finding = { ...sampleFinding(text), ...changes }
  return withFingerprints([finding], () => text)[0]!.fingerprint
}

test('a fingerprint survives lines above, another layout, comments and a moved file', () => {
  const original = named(sampleText)
  assert.match(original, /^[0-9a-f]{16}$/)
  assert.equal(named(`// a new line\n\n${sampleText}`), original)
  assert.equal(named(sampleText.replaceAll('\n', '\r\n')), original)
  const commented = sampleText.replace('await open(', 'await /* slow */ open( ')
  const moved = { suspension: spanOf(commented, 'await /* slow */ open( this.#url)') }
  assert.equal(named(commented, moved), original)
  assert.equal(named(sampleText, { file: 'elsewhere/client.ts' }), original)
})

test('a fingerprint changes with rule, function, location and the code that races', () => {
  const original = named(sampleText)
  assert.notEqual(named(sampleText, { rule: 'H201' }), original)
  assert.notEqual(named(sampleText, { function: 'Client.reconnect' }), original)
  assert.notEqual(named(sampleText, { key: 'Client.#other' }), original)
  const other = spanOf(sampleText, 'this.#session !== undefined')
  assert.notEqual(named(sampleText, { actSpan: other }), original)
})

test('equal findings are numbered in their order', () => {
  const finding = sampleFinding(sampleText)
  const all = withFingerprints([finding, finding, finding], () => sampleText)
  const [first, second, third] = all.map(({ fingerprint }) => fingerprint)
  assert.equal(second, `${first}-2`)
  assert.equal(third, `${first}-3`)
})

test('a finding in a file that is gone still has a fingerprint', () => {
  const [finding] = withFingerprints([sampleFinding(sampleText)], () => undefined)
  assert.match(finding!.fingerprint, /^[0-9a-f]{16}$/)
})

test('normalised text has no layout, but keeps words apart', () => {
  assert.equal(normalise('  a\n  ?.b ( c,\td ) ;'), 'a?.b(c,d)')
  assert.equal(normalise('await  x'), 'await x')
  assert.equal(normalise('new   Map( ) // every one'), 'new Map()')
})
