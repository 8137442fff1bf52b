import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findingLines } from '../../../src/report/text/finding.ts'
import { SourceLines } from '../../../src/report/source-lines.ts'
import { plainText, sampleSource, textOf } from '../../support/report.ts'
import { sampleFinding, sampleText, spanOf } from '../../support/sample.ts'

test('a finding: frame of A with check, suspension and act, frame of B, table, trace, window, fixes', () => {
  assert.equal(
    textOf(findingLines(sampleFinding(), sampleSource, plainText)),
    `error[H101]: \`Client.#session\` is checked before an await and set after it
  --> src/client.ts:12:9 (task A, in Client.connect)
   |
12 |     if (this.#session !== undefined) return this.#session
   |         ^^^^^^^^^^^^^^^^^^^^^^^^^^^ check
13 |     const session = await open(this.#url)
   |                     ~~~~~~~~~~~~~~~~~~~~~ suspension: other tasks run here
14 |     this.#session = session
   |     ^^^^^^^^^^^^^^^^^^^^^^^ act
  ::: src/client.ts:14:5 (task B, in Client.connect)
   |
14 |     this.#session = session
   |     ^^^^^^^^^^^^^^^^^^^^^^^ what the other task does meanwhile
   |
   = shared state:
     State            Scope     Writers            Readers            Guard
     Client.#session  instance  Client.connect:14  Client.connect:12  UNGUARDED
     Client.#url      instance                     Client.connect:13  never written after construction
   = trace:
       [Task A] 1. this.#session is undefined (L12)
     | [Task A] 2. await open(this.#url) (L13) ← CHECKPOINT
     | [Task B] 3. this.#session is still undefined (L12)
     | [Task B] 4. await open(this.#url) (L13) ← CHECKPOINT
     | [Task A] 5. this.#session = session (L14)
       [Task B] 6. this.#session = session: the first session leaks (L14)
   = window: steps 2–5
   = because: connect is public: two callers on one Client overlap
   = fingerprint: 0123456789abcdef
help: Share the promise, not the value [simple; closes steps 2–4; low risk]
   | connect() {
   |   return (this.#session ??= open(this.#url))
   | }
   = but: A failed open is shared too: clear the field when it rejects.
help: Hold a mutex over check and act [moderate; closes steps 1–6; medium risk]
   | using _ = await this.#lock.acquire()
   = but: Callers wait for each other, also when the session is there.`,
  )
})

test('in a narrow terminal nothing is wider than it, but for sketches: they are copied', () => {
  const sketches = sampleFinding().fixes.flatMap(({ sketch }) => sketch.split('\n'))
  for (const columns of [40, 60, 80]) {
    const options = { ...plainText, columns, isTerminal: true }
    const lines = textOf(findingLines(sampleFinding(), sampleSource, options)).split('\n')
    for (const line of lines) {
      if (sketches.some((sketch) => line.endsWith(sketch))) continue
      assert.ok(line.length <= columns, `${columns}: ${line}`)
    }
  }
})

test('where the table has no room it is a list, with nothing left out', () => {
  const options = { ...plainText, columns: 70, isTerminal: true }
  const text = textOf(findingLines(sampleFinding(), sampleSource, options))
  assert.match(
    text,
    /= shared state:\n {5}Client\.#session \(instance\)\n {7}UNGUARDED\n {7}written by Client\.connect:14\n {7}read by Client\.connect:12\n/,
  )
})

test('without Unicode there is none', () => {
  const text = textOf(findingLines(sampleFinding(), sampleSource, { ...plainText, unicode: false }))
  assert.match(text, /= window: steps 2-5/)
  assert.match(text, /\(L13\) <- CHECKPOINT/)
  // oxlint-disable-next-line no-control-regex -- everything but ASCII
  assert.doesNotMatch(text, /[^\u0000-\u007f]/)
})

test('an act in another file has a frame of its own; a file that is gone has none', () => {
  const actSpan = spanOf(sampleText, 'this.#session = session', { file: 'src/other.ts' })
  const finding = sampleFinding(sampleText, { actSpan })
  const text = textOf(findingLines(finding, sampleSource, plainText))
  assert.match(text, /\n {2}::: src\/other\.ts:14:5 \(task A, in Client\.connect\)\n {2}:::/)
})

test('a blocking finding is one place, without tasks', () => {
  const actSpan = spanOf(sampleText, 'open(this.#url)')
  const finding = sampleFinding(sampleText, {
    rule: 'B101',
    message: 'it is slow',
    class: 'blocking',
    checkSpan: actSpan,
    actSpan,
    fixes: [sampleFinding().fixes[0]!, sampleFinding().fixes[0]!],
    shared: [],
    trace: [],
    evidence: ['reached from the handler of GET /'],
  })
  const { suspension: _s, conflict: _c, window: _w, ...blocking } = finding
  const text = textOf(findingLines(blocking, sampleSource, plainText))
  assert.match(text, /--> src\/client\.ts:13:27 \(in Client\.connect\)\n/)
  assert.doesNotMatch(text, /Task|check\b|= window|shared state|steps/)
  assert.match(text, /= because: reached from the handler of GET \//)
})

test('escape sequences in source, messages and sketches do not reach the terminal', () => {
  const evil = sampleText
    .replace("'./session.ts'", "'./session.ts'")
    .replace('await open', 'await \u001b[2Jopen')
  const suspension = spanOf(evil, 'await \u001b[2Jopen(this.#url)')
  const fix = { ...sampleFinding().fixes[0]!, sketch: 'x\u001b[31m' }
  const finding = sampleFinding(evil, {
    suspension,
    message: 'a\u001b]0;title\u0007b',
    fixes: [fix, fix],
    checkpoints: [],
    shared: [{ name: 'x\u001b[31m', scope: 'module', writers: [], readers: [] }],
    evidence: ['e\u001b[31m'],
    trace: [{ task: 'A', text: 't\u001b[31m', span: suspension }],
  })
  assert.doesNotMatch(
    textOf(findingLines(finding, new SourceLines(() => evil), plainText)),
    /\u001b|\u0007/,
  )
})
