import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Extents } from '../../src/parts/extents.ts'
import { programOf } from '../support/program.ts'

const { files } = programOf({
  'a.ts': [
    'export function outer() {',
    '  items.forEach(() => {',
    '    run()',
    '  })',
    '}',
    'function other() {}',
    'function outer() {',
    '}',
  ].join('\n'),
})

function extentOf(line: number, name: string, file = 'a.ts') {
  const finding = { file, line, function: name }
  return new Extents(files, [finding]).of(finding)
}

test('the extent of a finding is that of the innermost function of its name', () => {
  assert.deepEqual(extentOf(1, 'outer'), [1, 5])
  // A callback has no name of its own and is reported under that of the function around it.
  assert.deepEqual(extentOf(3, 'outer'), [2, 4])
  assert.deepEqual(extentOf(3, 'outer.<callback>'), [2, 4])
})

test('among several functions of the same name the one around the line is chosen', () => {
  assert.deepEqual(extentOf(7, 'outer'), [7, 8])
})

test('there is none outside of the function, for an unknown name, or in another file', () => {
  assert.equal(extentOf(6, 'outer'), undefined)
  assert.equal(extentOf(1, 'nobody'), undefined)
  assert.equal(extentOf(1, 'outer', 'b.ts'), undefined)
})

test('findings of one file do not affect those of another', () => {
  const findings = [
    { file: 'a.ts', line: 3, function: 'outer' },
    { file: 'a.ts', line: 6, function: 'other' },
    { file: 'a.ts', line: 3, function: 'outer' },
  ]
  const extents = new Extents(files, findings)
  assert.deepEqual(
    findings.map((one) => extents.of(one)),
    [
      [2, 4],
      [6, 6],
      [2, 4],
    ],
  )
})
