import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseSource } from '../../src/frontend/parse.ts'
import { callNames } from '../../src/typed/call-names.ts'

test('the name of every called method is found by the end of its call', () => {
  const text = 'a.first(b.second(1)).third`x`; c?.fourth?.(); d.#fifth(); e[f](); g()'
  const parsed = parseSource('a.ts', `class X { m() { ${text} } }`)
  const ends = [...parsed.text.matchAll(/\)/g)].map(({ index }) => index + 1)
  const found = [...callNames(parsed, ends)]
    .map(([end, at]) => `${parsed.text.slice(at, at + 6)} … ${parsed.text[end - 1]}`)
    .sort()
  assert.deepEqual(found, ['#fifth … )', 'first( … )', 'fourth … )', 'second … )'])
  const second = parsed.text.indexOf('second')
  const end = second + 'second(1)'.length
  assert.equal(callNames(parsed, [end]).get(end), second)
  assert.equal(callNames(parsed, []).size, 0)
})
