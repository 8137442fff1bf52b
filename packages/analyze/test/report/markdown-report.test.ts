import assert from 'node:assert/strict'
import { test } from 'node:test'
import { code, findingSection, markdownReport, prose } from '../../src/report/markdown-report.ts'
import { sampleReport, sampleSource } from '../support/report.ts'
import { sampleFinding, sampleText, spanOf } from '../support/sample.ts'

test('a finding is a document in the structure of seed 003', () => {
  assert.equal(
    findingSection(sampleFinding(), sampleSource),
    `## Concurrency analysis: \`src/client.ts#Client.connect\`

**H101** (error) at \`src/client.ts:12\`: \`Client.#session\` is checked before an await and set after it

Fingerprint \`0123456789abcdef\`.

### Shared state

| State | Scope | Writers | Readers | Guard |
|---|---|---|---|---|
| \`Client.#session\` | instance | \`Client.connect:14\` | \`Client.connect:12\` | UNGUARDED |
| \`Client.#url\` | instance | - | \`Client.connect:13\` | never written after construction |

### Checkpoints

\`\`\`
L12: if (this.#session !== undefined) return this.#session  ← (not a checkpoint: the check)
L13: const session = await open(this.#url)                  ← CHECKPOINT: Client.#session may be set when it goes on
L14: this.#session = session                                ← (not a checkpoint: the act)
\`\`\`

### Race trace

\`\`\`
[Task A] 1. this.#session is undefined (L12)
[Task A] 2. await open(this.#url) (L13) → CHECKPOINT
[Task B] 3. this.#session is still undefined (L12)
[Task B] 4. await open(this.#url) (L13) → CHECKPOINT
[Task A] 5. this.#session = session (L14)
[Task B] 6. this.#session = session: the first session leaks (L14)
\`\`\`

**Race window:** steps 2–5.

- connect is public: two callers on one Client overlap

### Classification

**TOCTOU (time of check to time of use)**: state changes between a check and the action that is based on it. (H101)

### Fixes

#### 1. Share the promise, not the value [simple]

- **Sketch**:

  \`\`\`ts
  connect() {
    return (this.#session ??= open(this.#url))
  }
  \`\`\`

- **How it closes the window**: steps 2–4 can no longer be interleaved.
- **Tradeoffs**: A failed open is shared too: clear the field when it rejects.
- **Risk**: low

#### 2. Hold a mutex over check and act [moderate]

- **Sketch**:

  \`\`\`ts
  using _ = await this.#lock.acquire()
  \`\`\`

- **How it closes the window**: steps 1–6 can no longer be interleaved.
- **Tradeoffs**: Callers wait for each other, also when the session is there.
- **Risk**: medium`,
  )
})

test('names in the program cannot end a cell, a code span or a fence', () => {
  const hostile = sampleFinding(sampleText, {
    shared: [{ name: 'a|b`c', scope: 'entry', writers: [], readers: [], guard: 'x | y\nz' }],
    fixes: [{ ...sampleFinding().fixes[0]!, sketch: 'const x = `\n```\n## no heading`' }],
  })
  const text = findingSection(hostile, sampleSource)
  assert.ok(text.includes('| ``a\\|b`c`` | entry | - | - | x \\| y z |'))
  assert.ok(text.includes('  ````ts\n'))
  assert.equal(code('`'), '`` ` ``')
})

test('names in sentences cannot become tags or emphasis; code in them stays unchanged', () => {
  assert.equal(
    prose('a <b> calls __c, `x < y` and `d_e`'),
    'a \\<b> calls \\_\\_c, `x < y` and `d_e`',
  )
  const text = findingSection(
    sampleFinding(sampleText, { message: '<module>.<callback> waits', class: 'blocking' }),
    sampleSource,
  )
  assert.match(text, /: \\<module>\.\\<callback> waits\n/)
  assert.match(text, /steps 2–4 no longer holds up the others\./)
})

test('an act in another file, and a step there, are reported with their file', () => {
  const elsewhere = spanOf(sampleText, 'this.#session = session', { file: 'src/other.ts' })
  const finding = sampleFinding(sampleText, {
    actSpan: elsewhere,
    trace: [{ task: 'A', text: 'writes', span: elsewhere }],
    shared: [
      {
        name: 'x',
        scope: 'module',
        writers: [{ function: 'store', kind: 'write', span: elsewhere }],
        readers: [],
      },
    ],
  })
  const text = findingSection(finding, sampleSource)
  assert.match(text, /\| `store \(src\/other\.ts:14\)` \|/)
  assert.match(text, /\[Task A\] 1\. writes \(src\/other\.ts:14\)/)
  assert.match(text, /src\/other\.ts L14: +← \(not a checkpoint: the act\)/)
})

test('the report leaves out known findings, and names suppressed, fixed and skipped ones', () => {
  const finding = sampleFinding()
  const text = markdownReport(
    sampleReport({
      findings: [{ finding, state: 'known' }],
      suppressed: [{ finding, reason: 'only one caller' }],
      fixed: [{ fingerprint: 'f', rule: 'H502', file: 'a.ts', function: 'load', message: 'm' }],
      diagnostics: [
        { kind: 'parse-error', file: 'b.ts', line: 3, message: 'Expected }', isIncomplete: true },
      ],
      hasBaseline: true,
    }),
  )
  assert.doesNotMatch(text, /## Concurrency analysis/)
  assert.match(text, /^No findings in 1 file, 17 lines\.$/m)
  assert.match(text, /^In the baseline: 1\.$/m)
  assert.match(text, /^- H101 at `src\/client\.ts:12`: only one caller$/m)
  assert.match(text, /^- H502 in `a\.ts#load`$/m)
  assert.match(text, /^- `b\.ts:3`: Expected \}$/m)
})
