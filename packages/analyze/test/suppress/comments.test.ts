import assert from 'node:assert/strict'
import { test } from 'node:test'
import { directivesIn } from '../../src/suppress/comments.ts'

/** The line of each comment, and the line of the code that it is about. */
function lines(file: string, text: string): (readonly [number, number])[] {
  return directivesIn(file, text).map(({ own, below }) => [own, below[0]])
}

test('a comment holds for its own line and for the next', () => {
  assert.deepEqual(lines('a.ts', 'work() // heddle-ignore H101 -- x\nmore()'), [[1, 2]])
  assert.deepEqual(lines('a.ts', '\n// heddle-ignore H101 -- x\nwork()'), [[2, 3]])
  assert.deepEqual(lines('a.ts', '/* heddle-ignore H101 -- x */ work()'), [[1, 2]])
})

test('other comments may stand between it and the code', () => {
  const text = '/*\n * heddle-ignore H101 -- x\n */\n// lint-ignore\n/* why\n * so */\nwork()'
  assert.deepEqual(lines('a.ts', text), [[1, 7]])
})

test('a comment behind code is not skipped', () => {
  assert.deepEqual(lines('a.ts', '// heddle-ignore H101 -- x\nwork() // done\nmore()'), [[1, 2]])
})

test('JSX comments are comments', () => {
  const text = 'const a = (\n  <div>\n    {/* heddle-ignore H101 -- x */}\n    <B />\n  </div>\n)'
  assert.deepEqual(lines('a.tsx', text), [[3, 4]])
})

test('text that only looks like a comment is not a directive', () => {
  const text = "const a = '// heddle-ignore H101 -- x'\nconst b = `/* heddle-ignore H101 -- y */`"
  assert.deepEqual(lines('a.ts', text), [])
})

test('the span is that of the comment, in a file with a byte order mark too', () => {
  const [directive] = directivesIn('a.ts', '\ufeffx()\n  // heddle-ignore H101 -- x\n')
  assert.deepEqual(directive!.span, { file: 'a.ts', line: 2, column: 3, endLine: 2, endColumn: 29 })
})
