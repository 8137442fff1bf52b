import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Graph, job, startRun, type NodeRef } from '@heddle/core'
import { systemKernel, type Kernel } from '@heddle/core/lowlevel'
import { VirtualClock } from '@heddle/core/testing'
import { journals } from './kit.ts'

function virtual(): { clock: VirtualClock; kernel: Kernel } {
  const clock = new VirtualClock()
  return { clock, kernel: { ...systemKernel, clock } }
}

const day = 24 * 60 * 60 * 1_000

function approval(): { graph: Graph; approved: NodeRef<{ by: string }> } {
  const graph = new Graph()
  const approve = job({ name: 'approve' }, async (_: void, ctx) => {
    await ctx.sleep(day)
    return ctx.waitFor<{ by: string }>('approval', { deadline: 3 * day })
  })
  return { graph, approved: graph.add('approve', approve) }
}

test('G9: send() without a journal: the signal is kept until a job waits for it', async () => {
  const { clock, kernel } = virtual()
  const { graph, approved } = approval()
  const started = await startRun(graph, { kernel })
  await started.send('approval', { by: 'Ada' })
  const result = await clock.runUntil(started.result)
  assert.deepEqual(result.of(approved), { by: 'Ada' })
  await assert.rejects(started.send('approval'), { code: 'HDL_RUN_ENDED' })
})

test('G9: send() with a journal in memory, in virtual time, and the waits in explain() for programs', async (t) => {
  const { clock, kernel } = virtual()
  const journal = await journals['memory']!(t, kernel)
  const { graph, approved } = approval()
  const suspended: unknown[] = []
  const started = await startRun(graph, {
    kernel,
    journal,
    observer: (event) => {
      if (event.type !== 'node' || event.state !== 'suspended') return
      const explanation = started.scheduler.explain(event.name)
      suspended.push(explanation.why === 'suspended' && explanation.waitsFor)
      if (suspended.length === 2) void started.send('approval', { by: 'Ada' })
    },
  })
  const from = clock.wallTime()
  const result = await clock.runUntil(started.result)
  assert.deepEqual(result.of(approved), { by: 'Ada' })
  assert.deepEqual(suspended, [
    { until: from + day },
    { signal: 'approval', until: from + 4 * day },
  ])
})

test('G9: send() to a run in a file is delivered, and refused for a run that had ended before', async (t) => {
  const journal = await journals['sqlite']!(t)
  const graph = new Graph()
  const go = graph.add(
    'go',
    job({ name: 'go' }, (_: void, ctx) => ctx.waitFor<number>('go')),
  )
  const started = await startRun(graph, { journal, key: 'k' })
  await started.send('go', 7)
  const result = await started.result
  assert.equal(result.of(go), 7)
  const again = await startRun(graph, { journal, key: 'k' })
  assert.equal(again.isRecorded, true)
  await assert.rejects(again.send('go', 8), { code: 'HDL_RUN_ENDED' })
})

test('send() refuses a name that is not a text', async () => {
  const { clock, kernel } = virtual()
  const { graph } = approval()
  const started = await startRun(graph, { kernel })
  await assert.rejects(started.send(7 as never), { code: 'HDL_BAD_OPTION' })
  started.scheduler.cancel({ abort: true })
  await clock.runUntil(started.result)
})
