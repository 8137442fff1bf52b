import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Graph, job } from '@heddle/core'
import { checkServed } from '../src/check-served.ts'
import { schedule } from '../src/index.ts'

const graph = new Graph()
graph.add(
  'weave',
  job({ name: 'weave' }, () => 1),
  { input: () => undefined },
)

test('a module is served for its jobs, for its graphs or for its schedules', () => {
  checkServed([job({ name: 'weave' }, () => 1)])
  checkServed({ default: graph })
  checkServed({ default: () => graph })
  checkServed({ graphs: { nightly: graph } })
  checkServed({ schedules: schedule('nightly', '0 3 * * *', graph) })
})

test('a module with nothing to serve is refused', () => {
  for (const nothing of [[], {}, { a: 1 }, [undefined, 'x'], { jobs: [] }]) {
    assert.throws(() => checkServed(nothing), /nothing that can be served.*graph or schedule/)
  }
  assert.throws(() => checkServed('jobs.ts' as never), /a list of jobs, or the exports of a module/)
})
