import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseTarget } from '../../../src/frontend/targets/parse-target.ts'

const parse = (target: string): unknown => parseTarget(target, (path) => path === 'odd#name:1.ts')

test('paths, lines, functions and standard input are distinguished', () => {
  assert.deepEqual(parse('src/a.ts'), { kind: 'path', path: 'src/a.ts' })
  assert.deepEqual(parse('src/a.ts:120-180'), {
    kind: 'lines',
    path: 'src/a.ts',
    from: 120,
    to: 180,
  })
  assert.deepEqual(parse('C:\\a.ts:7'), { kind: 'lines', path: 'C:\\a.ts', from: 7, to: 7 })
  assert.deepEqual(parse('a.ts#Client.connect'), {
    kind: 'function',
    path: 'a.ts',
    name: 'Client.connect',
  })
  assert.deepEqual(parse('a.ts##reset'), { kind: 'function', path: 'a.ts', name: '#reset' })
  assert.deepEqual(parse('-'), { kind: 'stdin' })
})

test('an existing file is a path, whatever its name', () => {
  assert.deepEqual(parse('odd#name:1.ts'), { kind: 'path', path: 'odd#name:1.ts' })
})

test('lines that cannot be are refused with the numbers', () => {
  assert.throws(() => parse('a.ts:0-5'), { code: 'HDL_BAD_TARGET' })
  assert.throws(() => parse('a.ts:9-5'), { code: 'HDL_BAD_TARGET', message: /5 is before 9/ })
})
