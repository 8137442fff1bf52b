import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { CommitParser } from 'conventional-commits-parser'
import { bumpOf, parseMessage } from '../../../src/plan/commits/conventional.ts'

test('titles are read with and without a merge before them', () => {
  const titles: [string, string][] = [
    ['feat: x\n\nmore', 'feat: x'],
    ['\n\n  feat: x  \r\n', 'feat: x'],
    ["Merge branch 'a'", "Merge branch 'a'"],
    ['Merge pull request #1 from a/b\n\nfeat: x\n', 'feat: x'],
    ["Merge branch 'a' into 'main'\n\nfix: y\n\nSee merge request !1", 'fix: y'],
    ['Merge the two lists\n\nfeat: no title', 'Merge the two lists'],
    ['', ''],
  ]
  for (const [message, title] of titles) assert.equal(parseMessage(message).title, title)
})

test('messages that do not follow the convention', () => {
  for (const message of [
    '',
    'feat',
    'feat:x',
    'feat : x',
    'feat(a: x',
    ': x',
    'feat(a)(b): x',
    'feat: ',
  ]) {
    const { change, isConventional } = parseMessage(message)
    assert.deepEqual([change, isConventional], ['none', false], message)
  }
})

test('the type may be any word', () => {
  assert.equal(parseMessage('constructor: x').change, 'none')
  assert.equal(parseMessage('toString!: x').change, 'breaking')
})

test('reverts are recognized by hash, several, of a merge, by title', () => {
  const hash = 'a'.repeat(40)
  const other = 'b'.repeat(40)
  assert.deepEqual(parseMessage(`Revert "x"\n\nThis reverts commit ${hash}.`).reverts, [
    { hash, mainline: undefined },
  ])
  assert.deepEqual(
    parseMessage(
      `revert: two\n\nThis reverts commit ${hash}.\nThis reverts commit ${other}, reversing\nchanges made to ${hash}.`,
    ).reverts,
    [
      { hash, mainline: undefined },
      { hash: other, mainline: hash },
    ],
  )
  assert.deepEqual(parseMessage('Revert "feat: "x" (#1)" (#2)').reverts, [
    { title: 'feat: "x" (#1)' },
  ])
  assert.deepEqual(parseMessage('Reapply "feat: x"').reverts, [{ title: 'feat: x' }])
  assert.deepEqual(parseMessage('feat: revert "x"').reverts, [])
})

test('commits are classified for 0.x', () => {
  assert.equal(bumpOf('breaking', false, false), 'major')
  assert.equal(bumpOf('breaking', true, false), 'minor')
  assert.equal(bumpOf('breaking', true, true), 'major')
  assert.equal(bumpOf('feature', true, false), 'minor')
  assert.equal(bumpOf('fix', true, false), 'patch')
})

test('property: the library says the same of messages that follow the convention', () => {
  const parser = new CommitParser({
    breakingHeaderPattern: /^(\w*)(?:\(([\w$@.\-*/ ]*)\))?!: (.*)$/,
  })
  const word = fc.stringMatching(/^[a-z]{1,8}$/)
  const line = fc.stringMatching(/^[A-Z][a-z ,.]{0,30}$/)
  const message = fc
    .record({
      type: fc.oneof(fc.constantFrom('feat', 'fix', 'perf', 'docs'), word),
      scope: fc.option(word, { nil: undefined }),
      mark: fc.constantFrom('', '!'),
      subject: line,
      body: fc.array(line, { maxLength: 3 }),
      footer: fc.constantFrom(
        '',
        'BREAKING CHANGE: gone',
        'BREAKING-CHANGE: gone',
        'Reviewed-by: Z',
      ),
    })
    .map(({ type, scope, mark, subject, body, footer }) =>
      [
        `${type}${scope === undefined ? '' : `(${scope})`}${mark}: ${subject}`,
        '',
        ...body,
        '',
        footer,
      ].join('\n'),
    )
  fc.assert(
    fc.property(message, (text) => {
      const theirs = parser.parse(text)
      const { change } = parseMessage(text)
      const minor =
        { feat: 'feature', fix: 'fix', perf: 'fix', revert: 'fix' }[theirs['type'] as 'feat'] ??
        'none'
      assert.equal(change, theirs.notes.length > 0 ? 'breaking' : minor, text)
    }),
    { numRuns: 500 },
  )
})
