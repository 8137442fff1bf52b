import assert from 'node:assert/strict'
import { test } from 'node:test'
import { applySuppressions, type SuppressOptions } from '../../src/suppress/apply.ts'
import { sampleFile, sampleFinding, sampleText } from '../support/sample.ts'

const act = '    this.#session = session\n'
const check = '    if (this.#session !== undefined)'

function apply(
  text: string,
  options: Partial<SuppressOptions> = {},
): ReturnType<typeof applySuppressions> {
  return applySuppressions([sampleFinding(text)], {
    files: [sampleFile],
    read: () => text,
    today: '2026-11-16',
    couldReport: () => true,
    ...options,
  })
}

function above(line: string, comment: string): string {
  return sampleText.replace(line, `    ${comment}\n${line}`)
}

function outcome({
  findings,
  suppressed,
  problems,
}: ReturnType<typeof applySuppressions>): unknown {
  return [findings.length, suppressed.map(({ reason }) => reason), problems.map(({ rule }) => rule)]
}

test('a directive above the check or the act accepts the finding, with its reason', () => {
  const comment = '// heddle-ignore H101 -- one caller'
  assert.deepEqual(outcome(apply(above(check, comment))), [0, ['one caller'], []])
  assert.deepEqual(outcome(apply(above(act, comment))), [0, ['one caller'], []])
  const both = above(check, comment).replace(act, `    ${comment} too\n${act}`)
  assert.deepEqual(outcome(apply(both)), [0, ['one caller'], []])
  const name = '// heddle-ignore check-then-act, H502 -- one caller'
  assert.deepEqual(outcome(apply(above(act, name))), [0, ['one caller'], ['S101']])
})

test('a statement that is broken over lines is accepted by the comment above it', () => {
  const broken = sampleText.replace(
    '    this.#session = session\n',
    '    // heddle-ignore H101 -- one caller\n    Object.assign(\n      log,\n      (this.#session = session),\n    )\n',
  )
  assert.deepEqual(outcome(apply(broken)), [0, ['one caller'], []])
})

test('S101: another rule, or another line, is unused; not where the rule could not report', () => {
  const other = above(act, '// heddle-ignore H501 -- one caller')
  assert.deepEqual(outcome(apply(other)), [1, [], ['S101']])
  assert.deepEqual(outcome(apply(other, { couldReport: () => false })), [1, [], []])
  const [problem] = apply(other).problems
  assert.match(problem!.message, /`heddle-ignore H501` suppresses nothing/)
  assert.equal(problem!.line, 14)
  assert.equal(problem!.fixes.length, 2)
})

test('S102: it holds to the end of the day, and not longer', () => {
  const until = (day: string): string => above(act, `// heddle-ignore H101 -- soon [until=${day}]`)
  assert.deepEqual(outcome(apply(until('2026-11-16'))), [0, ['soon'], []])
  assert.deepEqual(outcome(apply(until('2026-11-15'))), [1, [], ['S102']])
  assert.deepEqual(outcome(apply(until('someday'))), [1, [], ['S102']])
})

test('S103: a rule that does not exist gets a suggestion; the other rules of the comment count', () => {
  const result = apply(above(act, '// heddle-ignore H1O1, H101 -- one caller'))
  assert.deepEqual(outcome(result), [0, ['one caller'], ['S103']])
  assert.match(result.problems[0]!.message, /There is no rule `H1O1`; did you mean H101\?/)
  assert.deepEqual(outcome(apply(above(act, '// heddle-ignore -- x'))), [1, [], ['S103']])
})

test('S104: without a reason it suppresses nothing', () => {
  for (const comment of ['// heddle-ignore H101', '// heddle-ignore H101 --  '])
    assert.deepEqual(outcome(apply(above(act, comment))), [1, [], ['S104']])
})

test('problems have fingerprints of their own, and none are found in files that were not read', () => {
  const text = `${sampleText}\n// heddle-ignore H101\n// heddle-ignore H101\n`
  const { problems } = apply(text)
  assert.equal(new Set(problems.map(({ fingerprint }) => fingerprint)).size, 2)
  assert.deepEqual(apply(text, { read: () => undefined }).problems, [])
})
