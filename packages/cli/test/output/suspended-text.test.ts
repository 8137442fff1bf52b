import assert from 'node:assert/strict'
import test from 'node:test'
import { suspendedText } from '../../src/output/suspended-text.ts'
import { formatDateTime } from '../../src/text/times.ts'

test('the time until which a job sleeps is local, as in `heddle runs`', () => {
  const until = Date.UTC(2026, 10, 21, 2, 46, 7)
  const base = { name: 'nap', state: 'suspended', why: 'suspended' } as const
  assert.equal(
    suspendedText({ ...base, text: 'sleeps until a time in UTC', waitsFor: { until } }),
    `sleeps until ${formatDateTime(until)}`,
  )
  const text = 'waits for the signal "go"'
  assert.equal(suspendedText({ ...base, text, waitsFor: { signal: 'go', until } }), text)
  assert.equal(
    suspendedText({ ...base, text: 'waits for the step "pay"' }),
    'waits for the step "pay"',
  )
})
