import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseSource } from '../../src/frontend/parse.ts'
import { lastLineOf } from '../../src/suppress/extent.ts'

function last(code: string, line: number): number {
  const parsed = parseSource('a.ts', code)
  assert.deepEqual(parsed.errors, [])
  return lastLineOf(parsed, line)
}

test('a statement is covered to its end, however it is broken', () => {
  assert.equal(last('const a = await load(\n  b,\n  c,\n)\nnext()', 1), 4)
  assert.equal(last('x()\nthis.a\n  .b()\n  .c()\ny()', 2), 4)
  assert.equal(last('function f() {\n  return (\n    a\n  )\n}', 2), 4)
  assert.equal(last('class A {\n  #x =\n    1\n  y = 2\n}', 2), 3)
})

test('a condition or a loop is covered to the end of its head', () => {
  assert.equal(last('if (\n  a &&\n  b\n) {\n  c()\n}', 1), 3)
  assert.equal(last('while (\n  a\n) {\n  b()\n}', 1), 2)
  assert.equal(last('for (const x of\n  y()) {\n  z(x)\n}', 1), 2)
  assert.equal(last('for (;;) {\n  a()\n}', 1), 1)
})

test('a function inside is not covered', () => {
  assert.equal(last('run(\n  a,\n  () => {\n    b()\n  },\n)', 1), 3)
  assert.equal(last('const f = async () => {\n  await a()\n}', 1), 1)
  assert.equal(last('const f = () =>\n  a()', 1), 2)
})

test('a function, a class or nothing at all is covered by its first line', () => {
  assert.equal(last('function f() {\n  a()\n}', 1), 1)
  assert.equal(last('class A {\n  m() {}\n}', 1), 1)
  assert.equal(last('a()\n\nb()', 2), 2)
  assert.equal(last('', 7), 7)
})
