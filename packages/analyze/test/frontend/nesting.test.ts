import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { estimateNesting } from '../../src/frontend/nesting.ts'

const unlimited = Number.MAX_SAFE_INTEGER

test('brackets in strings, templates, comments and regular expressions do not add up', () => {
  const texts = [
    "f('((((('); g(')')",
    'f(`((((${g(1)}((((`)',
    'f(1) // (((((\n/* [[[[[ ]]]]] */',
    'f(/[(]+/.test(a))',
  ]
  for (const text of texts) assert.ok(estimateNesting(text, unlimited) < 12, text)
})

test('many consecutive statements are not deep', () => {
  const statements = 'const a = b ? c : d; if (!e) { f(g, h) } else { i = j }\n'.repeat(500)
  assert.ok(estimateNesting(`{${statements.replaceAll(' else { i = j }', '')}}`, unlimited) < 20)
})

test('counting stops above the limit', () => {
  assert.ok(estimateNesting('['.repeat(1_000_000), 100) <= 101)
})

test('the estimate is never below the depth of brackets', () => {
  const piece = fc.constantFrom('(', '[', '{', ')', ']', '}', 'a', ' ', ';', ',', '=', '"x"', '`y`')
  fc.assert(
    fc.property(fc.array(piece), (pieces) => {
      let open = 0
      let deepest = 0
      for (const one of pieces) {
        if ('([{'.includes(one)) deepest = Math.max(deepest, ++open)
        else if (')]}'.includes(one) && open > 0) open--
      }
      assert.ok(estimateNesting(pieces.join(''), unlimited) >= deepest)
    }),
  )
})
