import assert from 'node:assert/strict'
import { test } from 'node:test'
import { escapeData, escapeProperty, githubReport } from '../../src/report/github.ts'
import { sampleReport } from '../support/report.ts'
import { sampleFinding, sampleText, spanOf } from '../support/sample.ts'

test('a finding is one command with file, lines and title; the message has its lines escaped', () => {
  const [line, ...others] = githubReport(sampleReport())
  assert.deepEqual(others, [])
  assert.match(
    line!,
    /^::error file=src\/client\.ts,line=12,endLine=14,title=H101 in Client\.connect::`Client\.#session` is checked/,
  )
  assert.match(line!, /%0A\[Task A\] 1\. this\.#session is undefined \(L12\)%0A/)
  assert.match(line!, /%0AWindow: steps 2–5%0AHelp: Share the promise/)
  assert.doesNotMatch(line!, /\n/)
})

test('notes are notices; known findings are left out; an incomplete analysis is an error', () => {
  const note = sampleFinding(sampleText, { level: 'note' })
  const lines = githubReport(
    sampleReport({
      findings: [
        { finding: note, state: 'new' },
        { finding: note, state: 'known' },
      ],
      diagnostics: [
        { kind: 'parse-error', file: 'b.ts', line: 3, message: 'Expected }', isIncomplete: true },
        { kind: 'types-lost', message: 'no compiler', isIncomplete: false },
      ],
    }),
  )
  assert.equal(lines.length, 3)
  assert.match(lines[0]!, /^::notice file=/)
  assert.equal(lines[1], '::error file=b.ts,line=3,title=incomplete%3A parse-error::Expected }')
  assert.equal(lines[2], '::notice title=incomplete%3A types-lost::no compiler')
})

test('an act in another file does not make a range', () => {
  const actSpan = spanOf(sampleText, 'this.#session = session', { file: 'src/other.ts' })
  const [line] = githubReport(sampleReport({}, [sampleFinding(sampleText, { actSpan })]))
  assert.match(line!, /^::error file=src\/client\.ts,line=12,title=/)
})

test('names in the program cannot end the command or add a property', () => {
  assert.equal(escapeData('50%\r\n::error::x'), '50%25%0D%0A::error::x')
  assert.equal(escapeProperty('a,b:c%\n'), 'a%2Cb%3Ac%25%0A')
})
