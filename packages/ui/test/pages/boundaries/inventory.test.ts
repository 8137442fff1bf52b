import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { readMatrix } from '../../../src/pages/boundaries/inventory.ts'

test('B1 reading an inventory never fails, whatever the file holds', () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.jsonValue(), (matrix, hotSpots) => {
      readMatrix({ matrix, hotSpots })
      readMatrix(matrix)
    }),
  )
})

test('rows and calls that hold the loop are read', () => {
  const { matrix, hotSpots } = readMatrix({
    matrix: [
      {
        component: 'src/jobs.ts',
        loop: ['3 request handlers'],
        elsewhere: [{ tag: 'thread', name: 'resize()', count: 2 }],
        remaining: [],
      },
    ],
    hotSpots: [
      { name: 'readFileSync()', file: 'src/a.ts', line: 4, way: ['main'], instead: 'readFile()' },
    ],
  })
  assert.equal(matrix[0]!.elsewhere[0]!.count, 2)
  assert.equal(hotSpots[0]!.instead, 'readFile()')
})
