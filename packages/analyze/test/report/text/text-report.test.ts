import assert from 'node:assert/strict'
import { test } from 'node:test'
import { textReport } from '../../../src/report/text/text-report.ts'
import { plainText, sampleReport, textOf } from '../../support/report.ts'
import { sampleFinding, sampleText } from '../../support/sample.ts'

function text(...args: Parameters<typeof sampleReport>): string {
  return textOf(textReport(sampleReport(...args), plainText))
}

test('the last line has the counts, the size and the speed', () => {
  const findings = (['error', 'warning', 'warning', 'note'] as const).map((level) =>
    sampleFinding(sampleText, { level }),
  )
  const stats = { ...sampleReport().stats, lines: 17_000 }
  assert.deepEqual(text({ stats }, findings).split('\n').slice(-2), [
    '1 error, 2 warnings, 1 note in 1 file, 17,000 lines, 0.01 s, 3,400,000 lines/s',
    'More about it: heddle analyze --explain H101',
  ])
  assert.match(text({}, []), /^no findings in 1 file, 17 lines/)
})

test('known findings are counted, not shown; fixed ones are reported with the next step', () => {
  const report = text({
    findings: [{ finding: sampleFinding(), state: 'known' }],
    fixed: [{ fingerprint: 'abc', rule: 'H502', file: 'a.ts', function: 'load', message: 'gone' }],
    hasBaseline: true,
    suppressed: [{ finding: sampleFinding(), reason: 'r' }],
    belowLevel: 3,
  })
  assert.equal(
    report,
    'fixed: H502 in a.ts (load), abc\n' +
      '       Take them out of the baseline with --write-baseline.\n\n' +
      'nothing new (1 in the baseline, 1 fixed, 1 suppressed, 3 below the level) in 1 file, 17 lines, 0.01 s',
  )
})

test('known findings are shown when they are asked for', () => {
  const findings = [{ finding: sampleFinding(), state: 'known' }] as const
  const report = text({ findings, hasBaseline: true, showsKnown: true })
  assert.match(report, /^error\[H101\]/)
  assert.match(report, /\n1 error \(1 in the baseline\) in/)
})

test('skipped files are reported, at the end as well', () => {
  const report = text(
    {
      diagnostics: [
        { kind: 'parse-error', file: 'b.ts', line: 3, message: 'Expected }', isIncomplete: true },
        { kind: 'types-lost', message: 'no compiler was found', isIncomplete: false },
      ],
      stats: { ...sampleReport().stats, types: 'none' },
    },
    [],
  )
  assert.match(
    report,
    /^incomplete\[parse-error\]: b\.ts:3: Expected \}\nnote\[types-lost\]: no compiler/,
  )
  assert.match(report, /, without types\nincomplete: something was left out/)
})
