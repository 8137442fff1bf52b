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

test('only() keeps these nodes and their dependencies, in the order of the graph', () => {
  const g = new Graph()
  const a = g.add('a', one)
  const b = g.add('build', one, { after: [a] })
  g.add('c', one)
  const d = g.add('d', one, { after: [b, 'a'] })
  g.add('e', one, { after: [d] })
  const namesOf = (graph: Graph): string[] => Array.from(graph.nodes(), ({ name }) => name)
  assert.deepEqual(namesOf(g.only([d])), ['a', 'build', 'd'])
  assert.deepEqual(namesOf(g.only(['c', a])), ['a', 'c'])
  assert.equal(g.only([]).size, 0)
  assert.equal(g.size, 5, 'the graph itself is as it was')
  assert.throws(
    () => g.only(['biuld']),
    (error) => isError(error, 'HDL_UNKNOWN_NODE') && /Did you mean "build"\?/.test(error.message),
  )
})

test('a name is used once', () => {
  const g = new Graph()
  g.add('a', one)
  assert.throws(
    () => g.add('a', one),
    (error) => isError(error, 'HDL_DUPLICATE_NODE'),
  )
})

test('a reference belongs to its graph: one of another graph is refused, also with a name that is known here', () => {
  const g = new Graph()
  const other = new Graph()
  g.add('a', one)
  const foreign = other.add('a', one)
  assert.throws(() => g.add('b', one, { after: [foreign] }), {
    code: 'HDL_UNKNOWN_DEPENDENCY',
    message: '"b" depends on a reference to "a" that belongs to another graph.',
  })
  assert.equal(g.size, 1, 'nothing was added')
  assert.throws(() => g.only([foreign]), {
    code: 'HDL_UNKNOWN_NODE',
    message: 'The reference to "a" belongs to another graph.',
  })
  g.add('b', one, { after: [{ name: 'a' }] })
  assert.deepEqual(g.get('b')?.after, ['a'], 'what is only a name is taken as one')
})

test('a part of a graph takes the references of the whole', () => {
  const g = new Graph()
  const a = g.add('a', one)
  const part = g.only([a])
  part.add('b', one, { after: [a] })
  assert.deepEqual(part.get('b')?.after, ['a'])
})

test('a dependency without its list is refused, and the message says how to write it', () => {
  const g = new Graph()
  const a = g.add('a', one)
  const expected = 'a list of names, or of references that add() returned'
  assert.throws(() => g.add('b', one, { after: a as never }), {
    code: 'HDL_BAD_OPTION',
    message: `Option "after" is a reference, expected ${expected}: write it in brackets.`,
  })
  assert.throws(() => g.add('b', one, { after: 'a' as never }), {
    message: `Option "after" is "a", expected ${expected}: write it in brackets.`,
  })
  assert.throws(() => g.add('b', one, { after: 5 as never }), {
    message: `Option "after" is 5, expected ${expected}.`,
  })
})

test('wrong limits are refused where they are written', () => {
  const g = new Graph()
  for (const wrong of [{ retries: -1 }, { timeout: '5s' }, { timeout: 0 }, { priority: 10 }]) {
    const limits = wrong as { retries?: number }
    assert.throws(() => job({ name: 'x', ...limits }, () => 1), { code: 'HDL_BAD_OPTION' })
    assert.throws(() => g.add('x', one, limits), { code: 'HDL_BAD_OPTION' })
  }
  assert.equal(g.size, 0)
})

test('a map without elements is refused with the name of its option', () => {
  const echo = job({ name: 'echo' }, (n: number) => n)
  for (const over of [undefined, null, 7, {}, [1, 2]]) {
    assert.throws(() => new Graph().map('all', echo, { over: over as never }), {
      code: 'HDL_BAD_OPTION',
      message: /^Option "over" is .*, expected a node that returns the elements, or a function/,
    })
  }
})
