import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { findingClasses } from '../../src/finding.ts'
import { jsonReport } from '../../src/report/json-report.ts'
import { sampleReport } from '../support/report.ts'
import { sampleFinding, sampleText } from '../support/sample.ts'

const schema = JSON.parse(
  readFileSync(new URL('../../schema/report.schema.json', import.meta.url), 'utf8'),
) as { $defs: { finding: { properties: { class: { enum: string[] } } } } }
const validate = new Ajv2020({ strict: false, allErrors: true }).compile(schema)

function document(...args: Parameters<typeof sampleReport>): Record<string, unknown> {
  return JSON.parse(JSON.stringify(jsonReport(sampleReport(...args)))) as Record<string, unknown>
}

test('the document matches its schema', () => {
  const finding = sampleFinding()
  const all = document({
    findings: [
      { finding, state: 'new' },
      { finding, state: 'known' },
    ],
    suppressed: [{ finding, reason: 'only one caller' }],
    fixed: [
      {
        fingerprint: '0123456789abcdef-2',
        rule: 'H502',
        file: 'a.ts',
        function: 'load',
        message: 'm',
      },
    ],
    diagnostics: [{ kind: 'parse-error', file: 'b.ts', message: 'no', isIncomplete: true }],
  })
  assert.ok(validate(all), JSON.stringify(validate.errors))
  assert.ok(validate(document({}, [])), JSON.stringify(validate.errors))
})

test('the schema is not satisfied by anything else', () => {
  const one = document()
  const [finding] = one['findings'] as Record<string, unknown>[]
  const wrong: Record<string, unknown>[] = [
    { ...one, version: 2 },
    { ...one, findings: [{ ...finding, class: 'odd' }] },
    { ...one, findings: [{ ...finding, line: 0 }] },
    { ...one, findings: [{ ...finding, fixes: [] }] },
    { ...one, findings: [{ ...finding, fingerprint: undefined }] },
  ]
  for (const each of wrong) assert.equal(validate(JSON.parse(JSON.stringify(each))), false)
})

test('the schema knows every class', () => {
  assert.deepEqual(schema.$defs.finding.properties.class.enum, [...findingClasses])
})

test('a finding has the promised fields, with the lines of check and act', () => {
  const { version, findings, summary } = jsonReport(sampleReport())
  assert.equal(version, 1)
  const [finding] = findings
  assert.deepEqual(
    [finding!.rule, finding!.class, finding!.level, finding!.file, finding!.function],
    ['H101', 'toctou', 'error', 'src/client.ts', 'Client.connect'],
  )
  assert.deepEqual([finding!.line, finding!.check, finding!.act], [12, 12, 14])
  assert.deepEqual([summary.error, summary.new, summary.incomplete], [1, 1, false])
})

test('the summary counts by level and by state', () => {
  const note = sampleFinding(sampleText, { level: 'note' })
  const { summary } = jsonReport(
    sampleReport({
      findings: [
        { finding: note, state: 'known' },
        { finding: sampleFinding(), state: 'new' },
      ],
      belowLevel: 4,
    }),
  )
  assert.deepEqual(
    [summary.error, summary.note, summary.new, summary.known, summary.belowLevel],
    [1, 1, 1, 1, 4],
  )
})
