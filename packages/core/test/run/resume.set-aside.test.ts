import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Graph, job, run, type Job } from '@heddle/core'
import { systemKernel, type Journal } from '@heddle/core/lowlevel'
import { headersOf } from '../../src/run/compare-graphs.ts'
import { historyOf, journals, steps } from './kit.ts'

test('R5: a node that ran each of three times the process ended is set aside; when the run is resumed again it runs', async (t) => {
  const journal = await journals['memory']!(t)
  const calls: string[] = []
  const counted = (name: string): Job<unknown, number> => job({ name }, () => calls.push(name))
  const graph = (): Graph => {
    const made = new Graph()
    const poison = made.add('poison', counted('poison'))
    made.add('after', counted('after'), { after: [poison] })
    made.add('fine', counted('fine'))
    return made
  }
  const holder = { pid: 1, host: 'loom', command: 'heddle run' }
  const nodes = await headersOf(graph(), systemKernel.clock)
  const id = '20261117-120000-abcdef'
  const header = { id, key: 'k', title: 'run', startedAt: 1, options: {}, nodes, ...holder }
  const die = async (writer: Awaited<ReturnType<Journal['openRun']>>): Promise<void> => {
    for (const state of ['ready', 'running'] as const) {
      writer.append({ node: 'poison', state, attempt: 0, at: 2 })
    }
    await writer.flush()
    await writer[Symbol.asyncDispose]()
  }
  await die(await journal.openRun(header))
  for (let interruption = 1; interruption < 3; interruption++) {
    const { interruptions } = (await journal.snapshot(id)).nodes[0]!
    assert.equal(interruptions ?? 0, interruption - 1)
    await die(await journal.resumeRun(id, holder))
  }
  const set = await run(graph(), { journal, key: 'k', retries: 5 })
  assert.equal(set.run, id)
  const error = set.failed.get('poison') as { code: string; message: string }
  assert.equal(error.code, 'HDL_NODE_SET_ASIDE')
  assert.match(error.message, /has ended 3 times while it was running/)
  assert.deepEqual([calls.splice(0).toSorted(), set.succeeded], [['fine'], ['fine']])
  assert.deepEqual([...set.blocked.keys()], ['after'])
  const retried = await run(graph(), { journal, key: 'k', resume: true })
  assert.equal(retried.ok, true)
  assert.deepEqual(calls.splice(0).toSorted(), ['after', 'poison'])
  assert.ok(steps(await historyOf(journal, id)).includes('poison succeeded'))
})
