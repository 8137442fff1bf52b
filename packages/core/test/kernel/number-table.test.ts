import assert from 'node:assert/strict'
import { test } from 'node:test'
import { NumberTable, pieceSize } from '../../src/kernel/number-table.ts'

test('records keep their numbers while the table grows', () => {
  const table = new NumberTable(3, (length) => new Int32Array(length))
  const size = 2 * pieceSize + 5
  for (let index = 0; index < size; index++) {
    table.add(index)
    table.piece(index)[table.offset(index) + 1] = index
  }
  for (let index = 0; index < size; index++) {
    const start = table.offset(index)
    assert.deepEqual([...table.piece(index).subarray(start, start + 3)], [0, index, 0])
  }
})

test('a new record starts with the values that its piece was filled with', () => {
  const table = new NumberTable(1, (length) => new Float64Array(length).fill(NaN))
  for (let index = 0; index <= pieceSize; index++) {
    table.add(index)
    assert.ok(Number.isNaN(table.piece(index)[table.offset(index)]))
    table.piece(index)[table.offset(index)] = index
  }
})

test('a piece that is full size stays where it is', () => {
  const table = new NumberTable(1, (length) => new Int32Array(length))
  for (let index = 0; index < pieceSize; index++) table.add(index)
  const first = table.piece(0)
  for (let index = pieceSize; index < 3 * pieceSize; index++) table.add(index)
  assert.equal(table.piece(0), first)
  assert.notEqual(table.piece(pieceSize), first)
})
