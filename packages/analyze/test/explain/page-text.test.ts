import assert from 'node:assert/strict'
import { test } from 'node:test'
import { rulePage, rulePages } from '../../src/explain/pages.ts'
import { pageLines, pageList } from '../../src/explain/page-text.ts'
import { plainText, textOf } from '../support/report.ts'

test('a page has the rule, the reason, a bad example, a good example, and the repairs', () => {
  const text = textOf(pageLines(rulePage('H502')!, plainText))
  assert.match(text, /^H502 reset-then-fill\nAtomicity gap, error at most\n/)
  const titles = [
    'What is reported',
    'Why it matters',
    'Example',
    'How it goes wrong',
    'Without it',
    'Ways out',
    'To accept one',
  ]
  let last = -1
  for (const title of titles) {
    const at = text.indexOf(`\n\n${title}\n`)
    assert.ok(at > last, title)
    last = at
  }
  assert.match(text, /\[Task B\] 3\. resolve\(\): there is no such route, 404\n/)
  assert.match(text, /= window: steps 1–4\n/)
  for (const line of text.split('\n')) assert.ok(line.length <= 100, line)
})

test('the list has a line for each rule under the title of its class', () => {
  const text = textOf(pageList(rulePages, plainText))
  for (const { id, name } of rulePages) assert.match(text, new RegExp(`\\n {2}${id} {2}${name} `))
  assert.match(text, /^TOCTOU/)
})
