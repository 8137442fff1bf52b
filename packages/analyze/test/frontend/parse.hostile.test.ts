import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseSource } from '../../src/frontend/parse.ts'

const depth = 100_000

/** Shapes that recurse in a parser. Every one ends the process when it reaches oxc as it is. */
const shapes: Readonly<Record<string, string>> = {
  parentheses: `${'('.repeat(depth)}1${')'.repeat(depth)}`,
  arrays: `x = ${'['.repeat(depth)}${']'.repeat(depth)}`,
  'arrays beside strings that look like their ends': `x = ${'["]",'.repeat(depth)}${']'.repeat(depth)}`,
  functions: `${'function f() {'.repeat(depth)}${'}'.repeat(depth)}`,
  templates: `x = ${'`${'.repeat(depth)}1${'}`'.repeat(depth)}`,
  arrows: `x = ${'a => '.repeat(depth)}1`,
  conditions: `x = ${'a ? b : '.repeat(depth)}1`,
  'else if': `${'if (a) b(); else '.repeat(depth)}c()`,
  assignments: `${'x = '.repeat(depth)}1`,
  'new new': `${'new '.repeat(depth)}x`,
  powers: `x = ${'a ** '.repeat(depth)}1`,
  types: `type X = ${'A<B, '.repeat(depth)}C${'>'.repeat(depth)}`,
  'a pattern': `const ${'['.repeat(depth)}a${']'.repeat(depth)} = 1`,
}

for (const [name, text] of Object.entries(shapes)) {
  test(`I2: ${name}, ${depth} deep, are refused with a message`, () => {
    const { program, errors } = parseSource('a.ts', text)
    assert.deepEqual(program.body, [])
    assert.match(errors[0]!.message, /nested too deeply/)
  })
}

test('I2: JSX, also with apostrophes that look like strings, is refused when it is too deep', () => {
  for (const open of ['<a>', "<a>'{", '<a>// {']) {
    const { errors } = parseSource('a.tsx', `x = ${open.repeat(depth)}`)
    assert.match(errors[0]!.message, /nested too deeply/)
  }
})

test('a text that only looks deep is read', () => {
  const many = `x = [${'{ a: "(((((", b: a < b },'.repeat(2_000)}]`
  assert.deepEqual(parseSource('a.ts', many).errors, [])
})

test('twenty thousand statements in one function are read', () => {
  const text = `async function big() {\n${'  this.a = await b(this.a)\n'.repeat(20_000)}}`
  const { program, errors } = parseSource('a.ts', text)
  assert.deepEqual(errors, [])
  assert.equal(program.body.length, 1)
})

test('NUL bytes, lone surrogates and an empty text are read or refused, never thrown', () => {
  assert.deepEqual(parseSource('a.ts', '').program.body, [])
  assert.ok(parseSource('a.ts', 'const a\0 = 1').errors.length > 0)
  assert.deepEqual(parseSource('a.ts', 'const a = "\uD800"').errors, [])
})
