import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sarifReport } from '../../src/report/sarif.ts'
import type { Report } from '../../src/report/report.ts'
import { sampleReport } from '../support/report.ts'
import { sampleFinding, sampleText } from '../support/sample.ts'

interface Message {
  readonly text: string
}
interface Location {
  readonly physicalLocation: {
    readonly artifactLocation: { readonly uri: string; readonly uriBaseId: string }
    readonly region: Readonly<Record<string, unknown>>
  }
  readonly message?: Message
}
interface Result {
  readonly ruleId: string
  readonly ruleIndex: number
  readonly level: string
  readonly message: Message
  readonly locations: readonly Location[]
  readonly relatedLocations: readonly (Location & { readonly id: number })[]
  readonly partialFingerprints: Readonly<Record<string, string>>
  readonly baselineState?: string
  readonly suppressions?: readonly { readonly kind: string; readonly justification: string }[]
  readonly codeFlows: readonly {
    readonly threadFlows: readonly {
      readonly id: string
      readonly locations: readonly { executionOrder: number; location: Location }[]
    }[]
  }[]
}
interface Rule {
  readonly id: string
  readonly name: string
  readonly help: { readonly text: string; readonly markdown: string }
}
interface Log {
  readonly version: string
  readonly runs: readonly {
    readonly tool: { readonly driver: { readonly name: string; readonly rules: Rule[] } }
    readonly results: readonly Result[]
    readonly invocations: readonly {
      readonly executionSuccessful: boolean
      readonly toolExecutionNotifications: readonly { readonly level: string }[]
    }[]
    readonly originalUriBaseIds: Readonly<Record<string, { readonly uri: string }>>
  }[]
}

function sarif(report: Report): Log {
  const log = sarifReport(report, { version: '1.2.3', rootUrl: 'file:///project/' })
  // The log as a reader gets it: without the fields that JSON leaves out.
  return JSON.parse(JSON.stringify(log)) as Log
}

test('a log of version 2.1.0 with one run, its rules and a result for each finding', () => {
  const { version, runs } = sarif(sampleReport())
  assert.equal(version, '2.1.0')
  const [run] = runs
  assert.equal(run!.tool.driver.name, 'heddle analyze')
  assert.equal(run!.originalUriBaseIds['ROOT']!.uri, 'file:///project/')
  const [result] = run!.results
  const rule = run!.tool.driver.rules[result!.ruleIndex]!
  assert.deepEqual([rule.id, rule.name], ['H101', 'CheckThenAct'])
  assert.match(rule.help.markdown, /^### H101 check-then-act\n/)
  assert.deepEqual([result!.ruleId, result!.level], ['H101', 'error'])
  assert.match(result!.message.text, /is checked before an await.*\nTOCTOU.*\nWindow: steps 2–5\./)
  assert.deepEqual(result!.locations[0]!.physicalLocation, {
    artifactLocation: { uri: 'src/client.ts', uriBaseId: 'ROOT' },
    region: {
      startLine: 12,
      startColumn: 9,
      endLine: 12,
      endColumn: 36,
      snippet: { text: 'this.#session !== undefined' },
    },
  })
  assert.deepEqual(result!.partialFingerprints, { 'heddleFingerprint/v1': '0123456789abcdef' })
  assert.deepEqual(
    result!.relatedLocations.map(({ id, message }) => [id, message!.text]),
    [
      [0, 'check'],
      [1, 'suspension'],
      [2, 'act'],
      [3, 'what the other task does'],
    ],
  )
})

test('a code flow has one thread flow for each task, ordered over both by executionOrder', () => {
  const [flow] = sarif(sampleReport()).runs[0]!.results[0]!.codeFlows
  assert.deepEqual(
    flow!.threadFlows.map(({ id, locations }) => [
      id,
      locations.map(({ executionOrder }) => executionOrder),
    ]),
    [
      ['Task A', [1, 2, 5]],
      ['Task B', [3, 4, 6]],
    ],
  )
  const [, second] = flow!.threadFlows[0]!.locations
  assert.equal(second!.location.message!.text, '2. await open(this.#url) (checkpoint)')
})

test('suppressed findings stay in the log with their justification', () => {
  const finding = sampleFinding()
  const { results } = sarif(
    sampleReport({ findings: [], suppressed: [{ finding, reason: 'only one caller' }] }),
  ).runs[0]!
  assert.deepEqual(results[0]!.suppressions, [
    { kind: 'inSource', status: 'accepted', justification: 'only one caller' },
  ])
})

test('with a baseline, results are new or unchanged; without one they say nothing', () => {
  const finding = sampleFinding()
  const findings = [
    { finding, state: 'new' },
    { finding, state: 'known' },
  ] as const
  const compared = sarif(sampleReport({ findings, hasBaseline: true })).runs[0]!.results
  assert.deepEqual(
    compared.map((result) => result.baselineState),
    ['new', 'unchanged'],
  )
  assert.equal(sarif(sampleReport()).runs[0]!.results[0]!.baselineState, undefined)
})

test('skipped files make the invocation unsuccessful', () => {
  const diagnostic = { kind: 'parse-error', file: 'b.ts', line: 3, message: 'Expected }' } as const
  const [broken] = sarif(sampleReport({ diagnostics: [{ ...diagnostic, isIncomplete: true }] }))
    .runs[0]!.invocations
  assert.equal(broken!.executionSuccessful, false)
  assert.equal(broken!.toolExecutionNotifications[0]!.level, 'error')
  assert.equal(sarif(sampleReport()).runs[0]!.invocations[0]!.executionSuccessful, true)
})

test('paths are URLs; a finding without a trace has no code flow', () => {
  const span = { ...sampleFinding().checkSpan, file: 'src/a b/ä#1.ts' }
  const finding = sampleFinding(sampleText, {
    file: span.file,
    checkSpan: span,
    actSpan: span,
    trace: [],
  })
  const [result] = sarif(sampleReport({}, [finding])).runs[0]!.results
  const { uri } = result!.locations[0]!.physicalLocation.artifactLocation
  assert.equal(uri, 'src/a%20b/%C3%A4%231.ts')
  assert.equal(Object.hasOwn(result!, 'codeFlows'), false)
})
