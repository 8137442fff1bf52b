import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Graph, run } from '@heddle/core'
import { eatsMemory, square } from './fixtures/jobs.ts'

test('threads of a run: no more than were asked for, and none is left after the run', async () => {
  const graph = new Graph()
  const nodes = [1, 2, 3, 4].map((n) => graph.add(`square ${n}`, square, { input: n }))
  const result = await run(graph, { threads: { count: 1 } })
  assert.equal(result.ok, true)
  const threads = new Set(nodes.map((node) => result.of(node).threadId))
  assert.equal(threads.size, 1)
  assert.deepEqual(
    nodes.map((node) => result.of(node).onLoop),
    [false, false, false, false],
  )
})

test('memory of a thread: a job that takes more fails, and the others run in a new thread', async () => {
  const graph = new Graph()
  const greedy = graph.add('greedy', eatsMemory)
  const after = graph.add('after', square, { after: [greedy], when: 'always', input: 3 })
  const result = await run(graph, { threads: { count: 1, memory: 32 * 2 ** 20 } })
  const error = result.failed.get('greedy') as { code: string; message: string }
  assert.equal(error.code, 'HDL_THREAD_CRASHED')
  assert.match(error.message, /memory/)
  assert.equal((result.of(after) as { value: number }).value, 9)
})
