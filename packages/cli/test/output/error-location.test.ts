import assert from 'node:assert/strict'
import path from 'node:path'
import test from 'node:test'
import { locate } from '../../src/output/error-location.ts'

function withStack(stack: string): Error {
  return Object.assign(new Error('x'), { stack })
}
const here = (name: string): string => path.join(process.cwd(), name)

test('a syntax error is located by the line that Node writes above the stack', () => {
  const stack = `${here('a.ts')}:2\nexport default [\n               ^\n\nSyntaxError: Unexpected end\n    at x (node:internal/y:1:2)`
  assert.deepEqual(locate(withStack(stack)), {
    at: 'a.ts:2',
    excerpt: ['export default [', '               ^'],
  })
})

test('other errors are located by the first frame outside of Node and Heddle', () => {
  const stack = [
    'Error: x',
    '    at node:internal/z:1:2',
    `    at job (file:///w/packages/core/src/graph/job.ts:78:11)`,
    `    at job (/w/node_modules/@heddle/core/dist/index.js:1:1)`,
    `    at async build (file://${here('b.ts')}:3:4)`,
    `    at ${here('c.ts')}:5:6`,
  ].join('\n')
  assert.deepEqual(locate(withStack(stack)), { at: 'b.ts:3:4', excerpt: [] })
})

test('an error without a place gets none', () => {
  assert.equal(locate('text'), undefined)
  assert.equal(locate(withStack('Error: x\n    at node:internal/z:1:2')), undefined)
  const silent = new Error('x')
  delete silent.stack
  assert.equal(locate(silent), undefined)
})
