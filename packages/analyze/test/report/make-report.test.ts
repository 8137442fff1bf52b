import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Analysis } from '../../src/analysis.ts'
import type { Finding } from '../../src/finding.ts'
import { makeReport, type ReportOptions } from '../../src/report/make-report.ts'
import { sampleReport } from '../support/report.ts'
import { sampleFile, sampleFinding, sampleText } from '../support/sample.ts'

function analysisOf(
  findings: readonly Finding[],
  files: Readonly<Record<string, string>> = { [sampleFile]: sampleText },
  changes: Partial<Analysis> = {},
): Analysis {
  return {
    findings,
    diagnostics: [],
    stats: sampleReport().stats,
    files: Object.entries(files).map(([path, text]) => ({ path, text })),
    extentOf: () => [11, 16],
    ...changes,
  }
}

function make(
  analysis: Analysis,
  options: Partial<ReportOptions> = {},
): ReturnType<typeof makeReport> {
  return makeReport(analysis, {
    isWanted: () => true,
    isWhole: () => true,
    exists: () => false,
    rules: {},
    level: 'warning',
    failLevel: 'warning',
    baseline: undefined,
    showsKnown: false,
    isWithoutTypes: false,
    surveyed: [],
    today: '2026-11-16',
    ...options,
  })
}

const ids = ({ report }: ReturnType<typeof make>): string[] =>
  report.findings.map(({ finding }) => finding.rule)

test('rules can be switched off or get another level, before anything else is decided', () => {
  const analysis = analysisOf([sampleFinding()])
  assert.deepEqual(ids(make(analysis, { rules: { H101: 'off' } })), [])
  const lower = make(analysis, { rules: { H101: 'note' } })
  assert.deepEqual([ids(lower), lower.report.belowLevel], [[], 1])
})

test('findings below the level are counted; the baseline has those that can fail', () => {
  const findings = [
    sampleFinding(),
    sampleFinding(sampleText, { level: 'note', fingerprint: 'ab' }),
  ]
  const made = make(analysisOf(findings), { level: 'note' })
  assert.equal(made.report.findings.length, 2)
  assert.equal(made.baseline.findings.length, 1)
})

test('targets are asked with the lines of the function', () => {
  const asked: unknown[] = []
  make(analysisOf([sampleFinding()]), {
    isWanted: (_finding, extent) => {
      asked.push(extent)
      return true
    },
  })
  assert.deepEqual(asked, [[11, 16]])
})

const ignored = sampleText.replace(
  '    this.#session = session\n',
  '    // heddle-ignore H101 -- one caller\n    this.#session = session\n',
)

test('a suppressed note is not an unused suppression, and a rule that is off makes none unused', () => {
  const note = sampleFinding(ignored, { level: 'note' })
  const made = make(analysisOf([note], { [sampleFile]: ignored }))
  assert.deepEqual([ids(made), made.report.suppressed.length], [[], 1])
  const off = make(analysisOf([note], { [sampleFile]: ignored }), { rules: { H101: 'off' } })
  assert.deepEqual(ids(off), [])
})

test('unused suppressions are reported in files that were read whole, with the usual types', () => {
  const files = { [sampleFile]: ignored }
  assert.deepEqual(ids(make(analysisOf([], files))), ['S101'])
  assert.deepEqual(ids(make(analysisOf([], files), { isWhole: () => false })), [])
  assert.deepEqual(ids(make(analysisOf([], files), { isWithoutTypes: true })), [])
  const lost = [{ kind: 'types-lost', message: 'it ended', isIncomplete: true }] as const
  assert.deepEqual(ids(make(analysisOf([], files, { diagnostics: lost }))), [])
  // A project without a compiler never has types: a suppression unused there is unused.
  const untyped = { ...sampleReport().stats, types: 'none' } as const
  assert.deepEqual(ids(make(analysisOf([], files, { stats: untyped }))), ['S101'])
  const diagnostics = [
    { kind: 'parse-error', file: sampleFile, message: 'no', isIncomplete: true },
  ] as const
  assert.deepEqual(ids(make(analysisOf([], files, { diagnostics }))), [])
})

test('an entry of the baseline is fixed only where the analysis searched, or where the file is gone', () => {
  const { baseline } = make(analysisOf([sampleFinding()]))
  const fixed = (options: Partial<ReportOptions>, files?: Record<string, string>): number =>
    make(analysisOf([], files), { baseline, ...options }).report.fixed.length
  assert.equal(fixed({}), 1)
  assert.equal(fixed({ isWhole: () => false }), 0)
  assert.equal(fixed({ rules: { H101: 'off' } }), 0)
  assert.equal(fixed({}, { 'other.ts': '' }), 1, 'the file is gone')
  assert.equal(fixed({ exists: () => true }, { 'other.ts': '' }), 0, 'the file is elsewhere')
})

test('known findings stay in the report, marked', () => {
  const analysis = analysisOf([sampleFinding()])
  const { baseline } = make(analysis)
  const { report } = make(analysis, { baseline })
  assert.deepEqual([report.findings[0]!.state, report.hasBaseline], ['known', true])
})
