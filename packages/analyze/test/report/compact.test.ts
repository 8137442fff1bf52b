import assert from 'node:assert/strict'
import { test } from 'node:test'
import { compactReport } from '../../src/report/compact.ts'
import { sampleReport } from '../support/report.ts'
import { sampleFinding, sampleText } from '../support/sample.ts'

test('the counts come first, then one line for each finding with its first fix', () => {
  const [summary, line, ...others] = compactReport(sampleReport())
  assert.match(summary!, /^1 error in \d+ files?/)
  assert.equal(
    line,
    'error H101 src/client.ts:12 `Client.#session` is checked before an await and set after it. Fix: Share the promise, not the value.',
  )
  assert.deepEqual(others, [])
})

test('findings of one rule about the same state are one line', () => {
  const other = sampleFinding(sampleText, { line: 40, fingerprint: 'another' })
  const lines = compactReport(
    sampleReport({
      findings: [
        { finding: sampleFinding(), state: 'new' },
        { finding: other, state: 'new' },
      ],
    }),
  )
  assert.equal(lines.length, 2)
  assert.match(lines[1]!, / Also at src\/client\.ts:40\./)
})

test('findings below the level are mentioned', () => {
  const [summary] = compactReport(sampleReport({ findings: [], belowLevel: 3 }))
  assert.match(summary!, /^no findings .*; 3 below the level are not shown/)
})
