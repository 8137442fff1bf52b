import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseSource } from '../../src/frontend/parse.ts'

function typesOf(file: string, text: string): readonly string[] {
  const { program, errors } = parseSource(file, text)
  assert.deepEqual(errors, [])
  return program.body.map(({ type }) => type)
}

test('every language is read into one kind of tree', () => {
  assert.deepEqual(typesOf('a.ts', 'enum A { B }\n@deco class C { accessor d: number = 1 }'), [
    'TSEnumDeclaration',
    'ClassDeclaration',
  ])
  assert.deepEqual(typesOf('a.tsx', 'const a = <T,>(b: T) => <p>{b}</p>'), ['VariableDeclaration'])
  assert.deepEqual(typesOf('a.ts', 'const a = <T>b'), ['VariableDeclaration'])
  assert.deepEqual(typesOf('a.cts', "import a = require('a')\nreturn"), [
    'TSImportEqualsDeclaration',
    'ReturnStatement',
  ])
  assert.deepEqual(typesOf('a.mjs', 'await a()'), ['ExpressionStatement'])
})

test('JavaScript is a script, a module, JSX or typed, whatever it can be read as', () => {
  assert.deepEqual(typesOf('a.js', 'return <p/>'), ['ReturnStatement'])
  assert.deepEqual(typesOf('a.js', "import a from 'a'; await a"), [
    'ImportDeclaration',
    'ExpressionStatement',
  ])
  assert.deepEqual(typesOf('a.js', 'with (a) { await = 1 }'), ['WithStatement'])
  assert.deepEqual(typesOf('a.js', '// @flow\nfunction f(a: ?string): number {}'), [
    'FunctionDeclaration',
  ])
})

test('there are no nodes for parentheses', () => {
  const { program } = parseSource('a.ts', '((a))')
  const [statement] = program.body
  assert.ok(statement?.type === 'ExpressionStatement')
  assert.equal(statement.expression.type, 'Identifier')
})

test('offsets count UTF-16 units of the text without its byte order mark', () => {
  const parsed = parseSource('a.ts', '\uFEFF"😀é"\nfoo()')
  const call = parsed.program.body[1]!
  assert.equal(parsed.text.slice(call.start, call.end), 'foo()')
  assert.deepEqual(parsed.lineAt(call.start), { line: 2, column: 1 })
})

test('I1: a file that cannot be parsed is an error with its place, and its program is empty', () => {
  const { program, errors } = parseSource('a.ts', 'const a = 1\nconst {')
  assert.deepEqual(program.body, [])
  assert.equal(errors.length, 1)
  assert.ok(errors[0]!.start >= 12)
})

test('I1: a file that can be read in spite of an error is complete', () => {
  const { program, errors } = parseSource('a.ts', 'let a; let a = 1; break')
  assert.equal(program.body.length, 3)
  assert.ok(errors.length <= 1)
})

test('comments come with their places, in order', () => {
  const { comments } = parseSource('a.ts', '// heddle-ignore H101 -- one\nfoo() /* two */')
  assert.deepEqual(
    comments.map(({ type, value, start }) => ({ type, value, start })),
    [
      { type: 'Line', value: ' heddle-ignore H101 -- one', start: 0 },
      { type: 'Block', value: ' two ', start: 35 },
    ],
  )
})
