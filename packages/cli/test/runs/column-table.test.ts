import { surfaceOf, text } from './kit.ts'
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { table } from '../../src/runs/column-table.ts'
import { span } from '../../src/text/line.ts'

const columns = [{ title: 'A' }, { title: 'NUMBER', align: 'right' }, { title: '' }] as const
const rows = [
  [[span('漢字')], [span('1')], [span('x')]],
  [[span('b')], [span('12,345,678')], []],
]

test('columns are as wide as their widest cell, also in wide characters', () => {
  assert.equal(
    text(table(columns, rows, surfaceOf())),
    ['A         NUMBER', '漢字           1  x', 'b     12,345,678'].join('\n'),
  )
})

test('a run may have more rows than a function takes arguments', () => {
  const many = Array.from({ length: 200_000 }, () => rows[1]!)
  assert.equal(table(columns, many, surfaceOf()).length, 200_001)
})

test('a terminal is not exceeded, and there are no spaces at the end', () => {
  const lines = text(table(columns, rows, surfaceOf({ columns: 10 }))).split('\n')
  assert.deepEqual(lines, ['A     …', '漢字  …', 'b     …'], 'a figure is not cut in its middle')
})
