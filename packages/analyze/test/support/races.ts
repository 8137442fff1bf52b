/** Small programs that race, and their repaired twins. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { analyze } from '../../src/index.ts'
import type { Finding } from '../../src/index.ts'

/** The findings in one file. JavaScript is recognised by a `require`, an `exports` or the `js` argument. */
export async function findIn(source: string, extension: 'ts' | 'js' = 'ts'): Promise<Finding[]> {
  const file = `/program/code.${extension}`
  const { findings, diagnostics } = await analyze({
    root: '/program',
    files: [file],
    types: 'none',
    overlays: new Map([[file, source]]),
  })
  assert.deepEqual(
    diagnostics.filter((one) => one.kind !== 'types-lost'),
    [],
  )
  return [...findings]
}

export interface Sample {
  readonly name: string
  /** The text between the lines `--- race` and `--- fixed`. */
  readonly race: string
  readonly fixed: string
  readonly extension?: 'ts' | 'js'
  /** Texts that have to be on the lines of check and act. */
  readonly check?: string
  readonly act?: string
}

/** One test per sample: the rule speaks on the race and is silent on its twin. */
export function raceTests(rule: string, samples: readonly Sample[]): void {
  for (const sample of samples) {
    test(`${rule}: ${sample.name}`, async () => {
      const found = (await findIn(sample.race, sample.extension)).filter(
        (finding) => finding.rule === rule,
      )
      assert.notEqual(found.length, 0, 'the race is found')
      const lines = sample.race.split('\n')
      if (sample.check !== undefined)
        assert.ok(
          found.some((finding) => lines[finding.check - 1]?.includes(sample.check!)),
          `the check is on a line with ${sample.check}`,
        )
      if (sample.act !== undefined)
        assert.ok(
          found.some((finding) => lines[finding.act - 1]?.includes(sample.act!)),
          `the act is on a line with ${sample.act}`,
        )
      for (const finding of found) isComplete(finding)
      const left = (await findIn(sample.fixed, sample.extension)).filter(
        (finding) => finding.rule === rule,
      )
      assert.deepEqual(
        left.map((finding) => finding.message),
        [],
        'the repaired twin is silent',
      )
    })
  }
}

/** A finding is a whole analysis, whatever the rule. */
export function isComplete(finding: Finding): void {
  assert.ok(finding.fixes.length >= 2, 'two repairs')
  assert.ok(finding.evidence.length >= 1, 'evidence')
  assert.ok(finding.trace.length >= 2, 'a trace')
  assert.ok(finding.fingerprint.length > 0, 'a fingerprint')
  const [first, last] = finding.window ?? [0, 0]
  assert.ok(first >= 1 && first <= last && last <= finding.trace.length, 'a window in the trace')
  for (const fix of finding.fixes) {
    assert.ok(fix.sketch.length > 0 && fix.tradeoffs.length > 0)
    assert.ok(fix.closes[0] <= fix.closes[1])
  }
  for (const step of finding.trace) assert.ok(step.span.line >= 1 && step.text.length > 0)
  assert.ok([finding.check, finding.act].includes(finding.line), 'shown at the check or the act')
}
