import assert from 'node:assert/strict'
import { test } from 'node:test'
import { piecesOf } from '../../src/parts/log-text.ts'

const links = (text: string): string[] =>
  piecesOf(text).flatMap((piece) => (piece.isLink ? [piece.text] : []))
const joined = (text: string): string =>
  piecesOf(text)
    .map((piece) => piece.text)
    .join('')

test('X1 the codes of terminals are left out, everything else stays', () => {
  assert.equal(joined('\u001B[1;31mred\u001B[0m and \u001B[2Kplain'), 'red and plain')
  assert.equal(joined('\u001B]8;;https://a.example\u0007here\u001B]8;;\u0007'), 'here')
  for (const text of ['', 'plain', 'see https://a.example/x?y=1#z, then (https://b.example).']) {
    assert.equal(joined(text), text)
  }
})

test('X2 addresses are links, and nothing else is', () => {
  assert.deepEqual(links('at http://127.0.0.1:4500/ui/#/runs and https://a.example'), [
    'http://127.0.0.1:4500/ui/#/runs',
    'https://a.example',
  ])
  for (const text of ['javascript:alert(1)', 'file:///etc/passwd', 'data:text/html,x', 'http://']) {
    assert.deepEqual(links(text), [], text)
  }
  assert.deepEqual(links('<a href="https://a.example">'), ['https://a.example'])
})

test('X3 a sentence around an address is not part of it', () => {
  assert.deepEqual(links('Go to https://a.example/b. Or (https://c.example/d)!'), [
    'https://a.example/b',
    'https://c.example/d',
  ])
  assert.deepEqual(links('https://a.example/b_(c)'), ['https://a.example/b_(c)'])
})
