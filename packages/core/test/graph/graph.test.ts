import assert from 'node:assert/strict'
import test from 'node:test'
import { isError } from '../../src/errors.ts'
import { Graph } from '../../src/graph/graph.ts'
import { job } from '../../src/graph/job.ts'

const one = job({ name: 'one' }, () => 1)

test('a graph keeps its nodes in order, with their dependencies by name', () => {
  const g = new Graph()
  const a = g.add('a', one)
  g.add('b', one, { after: [a] })
  g.add('c', one, { after: ['a', 'b'], retries: 2 })
  assert.equal(g.size, 3)
  assert.deepEqual(
    [...g.nodes()].map(({ name, after }) => [name, after]),
    [
      ['a', []],
      ['b', ['a']],
      ['c', ['a', 'b']],
    ],
  )
  assert.equal(g.get('c')?.options.retries, 2)
})

test('an unknown dependency is refused with a suggestion', () => {
  const g = new Graph()
  g.add('compile', one)
  assert.throws(
    () => g.add('link', one, { after: ['complie'] }),
    (error) =>
      isError(error, 'HDL_UNKNOWN_DEPENDENCY') && /Did you mean "compile"\?/.test(error.message),
  )
  assert.equal(g.size, 1, 'nothing was added')
})

test('a name is used once', () => {
  const g = new Graph()
  g.add('a', one)
  assert.throws(
    () => g.add('a', one),
    (error) => isError(error, 'HDL_DUPLICATE_NODE'),
  )
})
