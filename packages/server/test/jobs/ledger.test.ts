import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { test, type TestContext } from 'node:test'
import { job, type NodeState } from '@heddle/core'
import { openJournal, systemKernel, type Journal } from '@heddle/core/lowlevel'
import { Ledger, type AcknowledgedWork, type StageName } from '../../src/jobs/ledger.ts'
import { serveJob } from '../../src/jobs/served-job.ts'
import type { StageRow } from '../../src/jobs/story.ts'

const load = job({ name: 'load' }, () => 1)
const plot = job({ name: 'plot' }, () => 2)
const one = serveJob({ name: 'one', prepare: load })
const two = serveJob({ name: 'two', prepare: load, item: plot, total: 3 })

function work(number: number): AcknowledgedWork {
  const input = { number, nothing: null }
  return { job: 'two', handle: `two-${number}`, input, priority: 1, version: '', force: false }
}

function step(node: StageName, state: NodeState): StageRow & { readonly kind: 'node' } {
  return { kind: 'node', node, state, attempt: 0, at: 1 }
}

/** A journal as it is after the process that wrote it has died. */
interface Place {
  readonly open: () => Promise<Journal>
}

const places: Readonly<Record<string, (t: TestContext) => Promise<Place>>> = {
  memory: async () => {
    const journal = await openJournal('memory')
    return { open: () => Promise.resolve(journal) }
  },
  sqlite: async (t) => {
    const folder = await mkdtemp(path.join(tmpdir(), 'heddle-ledger-'))
    t.after(() => rm(folder, { recursive: true, force: true }))
    return { open: () => openJournal(`sqlite:${path.join(folder, 'serve.db')}`) }
  },
}

for (const [name, place] of Object.entries(places)) {
  test(`W5 ${name}: what was acknowledged and has not ended is found, oldest first; what has ended is not`, async (t) => {
    const { open } = await place(t)
    {
      await using journal = await open()
      const ledger = new Ledger(journal, systemKernel)
      const entries = []
      for (let number = 0; number < 5; number++)
        entries.push(await ledger.acknowledge(two, work(number)))
      entries[1]!.write(step('prepare', 'running'))
      entries[1]!.end('finished')
      entries[3]!.end('cancelled')
      entries[4]!.write(step('prepare', 'running'))
      if (name === 'memory') {
        // The process lives: only what it has let go of is interrupted.
        assert.deepEqual(await ledger.unfinished(), [])
        return
      }
      // Whoever ends waits for nobody; whoever reads afterwards does.
      await journal.runs()
    }
    await using journal = await open()
    const ledger = new Ledger(journal, systemKernel)
    const found = await ledger.unfinished()
    assert.deepEqual(
      found.map((unfinished) => unfinished.work),
      [work(0), work(2), work(4)],
    )
    for (const { runId } of found) (await ledger.resume(runId, two)).end('finished')
    await journal.runs()
    assert.deepEqual(await ledger.unfinished(), [])
  })

  test(`${name}: the stages are the nodes of the run`, async (t) => {
    const { open } = await place(t)
    await using journal = await open()
    const ledger = new Ledger(journal, systemKernel)
    const done = await ledger.acknowledge(two, work(1))
    done.write(step('prepare', 'running'))
    done.write(step('prepare', 'succeeded'))
    done.write(step('items', 'running'))
    done.write(step('items', 'succeeded'))
    done.end('finished')
    const failed = await ledger.acknowledge(two, work(2))
    failed.write(step('prepare', 'running'))
    failed.write({ ...step('prepare', 'failed'), error: new Error('no such row') })
    failed.end('finished')
    const simple = await ledger.acknowledge(one, { ...work(3), job: 'one' })
    simple.write({ ...step('prepare', 'failed'), error: 'a text' })
    simple.end('finished')
    const statesOf = async (runId: string): Promise<unknown> => {
      const { nodes, state } = await journal.snapshot(runId)
      return [state, ...Array.from(nodes.values(), (node) => [node.name, node.state])]
    }
    assert.deepEqual(await statesOf(done.runId), [
      'finished',
      ['input', 'succeeded'],
      ['prepare', 'succeeded'],
      ['items', 'succeeded'],
    ])
    assert.deepEqual(await statesOf(failed.runId), [
      'finished',
      ['input', 'succeeded'],
      ['prepare', 'failed'],
      ['items', 'blocked'],
    ])
    assert.deepEqual(await statesOf(simple.runId), [
      'finished',
      ['input', 'succeeded'],
      ['prepare', 'failed'],
    ])
    assert.deepEqual(await journal.valueOf(done.runId, 'input'), work(1))
  })
}

test('W5 killed before the input was written: nobody was told, so it is not found; runs of others neither', async (t) => {
  const { open } = await places['sqlite']!(t)
  {
    await using journal = await open()
    const holder = { pid: process.pid, host: 'here', command: 'test' }
    const nodes = [{ name: 'input', job: 'two', place: 'loop' as const, after: [] }]
    const header = { title: 'two', startedAt: 1, ...holder, nodes }
    await journal.openRun({
      ...header,
      id: 'half',
      options: { service: true, handle: 'h', priority: 1 },
    })
    const other = await journal.openRun({ ...header, id: 'other', options: {} })
    await other.commit({ node: 'input', state: 'succeeded', attempt: 0, at: 1 }, work(1))
    await new Ledger(journal, systemKernel).acknowledge(two, work(7))
  }
  await using journal = await open()
  const found = await new Ledger(journal, systemKernel).unfinished()
  assert.deepEqual(
    found.map((unfinished) => unfinished.work),
    [work(7)],
  )
})

test('crashes are counted from when work was gone on with, and not after it was put back', async (t) => {
  const { open } = await places['sqlite']!(t)
  const lives: ((ledger: Ledger, runId: string) => Promise<void>)[] = [
    // A start that ended without a word; then it was gone on with, and the same again.
    async (ledger) => void (await ledger.acknowledge(two, work(1))),
    async (ledger, runId) => void (await ledger.resume(runId, two)),
    async (ledger, runId) => (await ledger.resume(runId, two)).write(step('prepare', 'running')),
    async (ledger, runId) => (await ledger.resume(runId, two)).putBack(),
    async (ledger, runId) => void (await ledger.resume(runId, two)),
  ]
  const crashes: number[] = []
  let id = ''
  for (const live of lives) {
    await using journal = await open()
    await live(new Ledger(journal, systemKernel), id)
    await journal.stop()
    await using next = await open()
    const [unfinished] = await new Ledger(next, systemKernel).unfinished()
    id = unfinished!.runId
    crashes.push(unfinished!.crashes)
  }
  assert.deepEqual(crashes, [0, 1, 2, 0, 1])
})
