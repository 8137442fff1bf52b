import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  compareWithBaseline,
  formatBaseline,
  nextBaseline,
  parseBaseline,
  type Baseline,
} from '../../src/baseline/baseline.ts'
import type { Finding } from '../../src/finding.ts'
import { sampleFinding, sampleText } from '../support/sample.ts'

function finding(fingerprint: string, file = 'a.ts'): Finding {
  return sampleFinding(sampleText, { fingerprint, file })
}

function baselineOf(...findings: Finding[]): Baseline {
  return nextBaseline(findings, undefined, () => true)
}

const all = (): boolean => true

test('baseline: recorded findings are known, others are new, missing ones are fixed', () => {
  const baseline = baselineOf(finding('aa'), finding('bb'))
  const { findings, fixed } = compareWithBaseline([finding('bb'), finding('cc')], baseline, all)
  assert.deepEqual(
    findings.map(({ state }) => state),
    ['known', 'new'],
  )
  assert.deepEqual(
    fixed.map(({ fingerprint }) => fingerprint),
    ['aa'],
  )
})

test('I2: a finding in a file that was not analysed is not fixed, and stays', () => {
  const baseline = baselineOf(finding('aa', 'a.ts'), finding('bb', 'b.ts'))
  const onlyA = ({ file }: { file: string }): boolean => file === 'a.ts'
  assert.deepEqual(
    compareWithBaseline([], baseline, onlyA).fixed.map(({ file }) => file),
    ['a.ts'],
  )
  assert.deepEqual(
    nextBaseline([finding('cc', 'a.ts')], baseline, onlyA).findings.map((each) => each.fingerprint),
    ['cc', 'bb'],
  )
})

test('I3: the file is sorted, has a line for each entry, and is read back unchanged', () => {
  const baseline = baselineOf(finding('bb', 'b.ts'), finding('aa', 'b.ts'), finding('cc', 'a.ts'))
  const text = formatBaseline(baseline)
  assert.deepEqual(
    baseline.findings.map(({ fingerprint }) => fingerprint),
    ['cc', 'aa', 'bb'],
  )
  assert.equal(text.split('\n').filter((line) => line.includes('fingerprint')).length, 3)
  assert.deepEqual(parseBaseline(text), baseline)
  assert.deepEqual(parseBaseline(formatBaseline(baselineOf())), { version: 1, findings: [] })
})

test('I1: lines are not written', () => {
  const [entry] = baselineOf(finding('aa')).findings
  assert.deepEqual(Object.keys(entry!), ['fingerprint', 'rule', 'file', 'function', 'message'])
})

test('a file that is not a baseline is refused with the reason', () => {
  const cases: [text: string, problem: RegExp][] = [
    ['{', /^is not JSON \(/],
    ['null', /^has version undefined, and 1 is known$/],
    ['{"version":2}', /^has version 2/],
    ['{"version":1}', /^has no list "findings"$/],
    ['{"version":1,"findings":[{"fingerprint":"a"}]}', /^has no text "rule" in findings\[0\]$/],
    ['{"version":1,"findings":[null]}', /^has no text "fingerprint" in findings\[0\]$/],
  ]
  for (const [text, problem] of cases) {
    const parsed = parseBaseline(text)
    assert.ok('problem' in parsed)
    assert.match(parsed.problem, problem)
  }
})
