import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { isNeverSlow } from '../../src/regexp/shape.ts'
import { regExpVerdict } from '../../src/regexp/verdict.ts'
import { pattern } from './patterns.ts'

test('a pattern that is never slow is not judged slow, for any input', () => {
  const flags = fc.constantFrom('', 'i', 'm', 'y', 'u')
  fc.assert(
    fc.property(pattern, flags, fc.boolean(), fc.boolean(), (source, mode, a, b) => {
      const verdict = regExpVerdict(source, mode, { withoutControl: a, withoutSearch: b })
      if (isNeverSlow(source, mode)) assert.ok(!('degree' in verdict), `/${source}/${mode}`)
    }),
  )
})

test('one loop behind an anchor is never slow, in a search it may be', () => {
  assert.ok(isNeverSlow(String.raw`^\d+$`, ''))
  assert.ok(isNeverSlow(String.raw`\d+$`, 'y'))
  assert.ok(!isNeverSlow(String.raw`\d+$`, ''))
  assert.ok(!isNeverSlow(String.raw`^\d+$`, 'm'))
  assert.ok(!isNeverSlow('^(a+)+$', ''))
})

test('a pattern that cannot be modelled is not reported', () => {
  assert.ok(isNeverSlow('(', ''))
})
