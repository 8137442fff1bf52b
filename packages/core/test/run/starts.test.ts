import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { text } from 'node:stream/consumers'
import { test, type TestContext } from 'node:test'
import { Graph, job, run, type Job } from '@heddle/core'
import { systemKernel, type Journal, type RunWriter } from '@heddle/core/lowlevel'
import { headersOf } from '../../src/run/compare-graphs.ts'
import { historyOf, journals, temporaryFolder } from './kit.ts'

const holder = { pid: 1, host: 'loom', command: 'heddle run' }
const id = '20261117-120000-abcdef'

interface Case {
  /** The graph, and what its jobs were called with. */
  readonly graph: (calls: string[]) => Graph
  /** The part that is running whenever the process ends. */
  readonly node: string
  readonly part: string
  readonly called: string
}

const counted = (name: string, calls: string[]): Job<number, number> =>
  job({ name }, (n: number) => (calls.push(`${name} ${n}`), n))

const cases: Readonly<Record<string, Case>> = {
  'an element': {
    graph: (calls) => {
      const graph = new Graph()
      graph.map('m', counted('double', calls), { over: () => [0, 1], collect: false })
      return graph
    },
    node: 'm',
    part: '[1]',
    called: 'double 1',
  },
  'an element with a key': {
    graph: (calls) => {
      const graph = new Graph()
      const key = (n: number): string => `page-${n}`
      graph.map('m', counted('double', calls), { over: () => [0, 1], key, failures: 'collect' })
      return graph
    },
    node: 'm',
    part: '[key=page-1]',
    called: 'double 1',
  },
  'a step': {
    graph: (calls) => {
      const graph = new Graph()
      const pay = counted('pay', calls)
      const flow = job({ name: 'flow' }, async (_: void, ctx) => [
        await ctx.run(pay, 0),
        await ctx.run(pay, 1),
      ])
      graph.add('flow', flow)
      return graph
    },
    node: 'flow',
    part: 'run:pay#1',
    called: 'pay 1',
  },
  'a step of an element': {
    graph: (calls) => {
      const graph = new Graph()
      const pay = counted('pay', calls)
      const each = job({ name: 'each' }, async (n: number, ctx) => ctx.run(pay, n))
      graph.map('m', each, { over: () => [0, 1] })
      return graph
    },
    node: 'm',
    part: '[1]/run:pay#0',
    called: 'pay 1',
  },
}

/** Lives that ended while the part was running, `times` times in a row. */
async function interrupt(
  journal: Journal,
  { graph, node, part }: Case,
  times: number,
): Promise<void> {
  const nodes = await headersOf(graph([]), systemKernel.clock)
  const header = { id, key: 'k', title: 'run', startedAt: 1, options: {}, nodes, ...holder }
  const die = async (writer: RunWriter): Promise<void> => {
    const row = { node, attempt: 0, at: 2 }
    writer.append({ ...row, state: 'running' })
    writer.append({ ...row, state: 'suspended' })
    writer.append({ ...row, state: 'running', part: { path: part } })
    await writer.flush()
    await writer[Symbol.asyncDispose]()
  }
  await die(await journal.openRun(header))
  for (let death = 1; death < times; death++) await die(await journal.resumeRun(id, holder))
}

async function setAsideRows(journal: Journal): Promise<string[]> {
  return (await historyOf(journal, id)).flatMap((row) =>
    row.kind === 'part' && row.error?.code === 'HDL_NODE_SET_ASIDE' ? [row.part.path] : [],
  )
}

for (const [kind, openEmpty] of Object.entries(journals)) {
  for (const [what, one] of Object.entries(cases)) {
    test(`${kind}: R5: ${what} that was running at three ends of the process in a row is set aside, and runs after a retry`, async (t) => {
      const journal = await openEmpty(t)
      await interrupt(journal, one, 3)
      const calls: string[] = []
      const set = await run(one.graph(calls), { journal, key: 'k' })
      assert.equal(set.ok, false)
      assert.equal((await setAsideRows(journal))[0], one.part)
      assert.ok(!calls.includes(one.called), 'it was not called')
      assert.equal(calls.length, 1, 'the other one was')
      const retried = await run(one.graph(calls), { journal, key: 'k', resume: true })
      assert.equal(retried.ok, true)
      assert.deepEqual(calls.slice(1), [one.called], 'only what was set aside runs')
    })

    test(`${kind}: R5: ${what} that was running at two ends of the process runs again`, async (t) => {
      const journal = await openEmpty(t)
      await interrupt(journal, one, 2)
      const calls: string[] = []
      const result = await run(one.graph(calls), { journal, key: 'k' })
      assert.equal(result.ok, true)
      assert.deepEqual(await setAsideRows(journal), [])
      assert.deepEqual(calls.filter((call) => call === one.called).length, 1)
    })
  }
}

test('R6: an end of the element between two deaths begins the count again', async (t) => {
  const journal = await journals['memory']!(t)
  const one = cases['an element']!
  await interrupt(journal, one, 2)
  const writer = await journal.resumeRun(id, holder)
  const part = { path: one.part }
  for (const state of ['running', 'retrying', 'running', 'suspended', 'running'] as const) {
    writer.append({ node: 'm', attempt: 0, at: 3, state, part })
  }
  await writer.flush()
  await writer[Symbol.asyncDispose]()
  const calls: string[] = []
  assert.equal((await run(one.graph(calls), { journal, key: 'k' })).ok, true)
  assert.ok(calls.includes(one.called))
})

test('R6: starts of elements and steps are written in an interrupted run, and in no other', async (t) => {
  const journal = await journals['memory']!(t)
  const one = cases['a step of an element']!
  const { run: fresh } = await run(one.graph([]), { journal })
  await interrupt(journal, one, 1)
  await run(one.graph([]), { journal, key: 'k' })
  const starts = async (run_: string): Promise<string[]> =>
    (await historyOf(journal, run_)).flatMap((row) =>
      row.kind === 'part' && row.state === 'running' ? [row.part.path] : [],
    )
  assert.deepEqual(await starts(fresh!), [])
  assert.deepEqual(new Set(await starts(id)), new Set(['[0]', '[1]', '[0]/run:pay#0', one.part]))
})

/** One process of the fixture. */
async function live(
  t: TestContext,
  args: readonly string[],
): Promise<{ code: number; out: string }> {
  const file = path.join(import.meta.dirname, 'fixtures/poison.ts')
  const child = spawn(process.execPath, ['--conditions=heddle-source', file, ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
    signal: t.signal,
  })
  const ended = new Promise<number>((resolve, reject) => {
    child.on('exit', (code) => resolve(code ?? -1)).on('error', reject)
  })
  const out = await text(child.stdout)
  return { code: await ended, out }
}

for (const kind of ['node', 'element', 'step']) {
  test(`R6: a ${kind} that ends the process at once is set aside by the fifth process; a retry finishes it`, async (t) => {
    const folder = temporaryFolder(t)
    const file = path.join(folder, 'poison')
    writeFileSync(file, '')
    const address = `sqlite:${path.join(folder, 'runs.db')}`
    const args = [address, kind, file]
    let deaths = 0
    let last = await live(t, args)
    for (; last.code === 9 && deaths < 6; last = await live(t, args)) deaths++
    assert.equal(last.code, 0)
    // A start in a process that resumes nothing may be lost with it.
    assert.ok(deaths === 3 || deaths === 4, `${deaths} deaths`)
    rmSync(file)
    const { out } = await live(t, [...args, 'retry'])
    const { ok, value } = JSON.parse(out) as { ok: boolean; value: unknown }
    assert.equal(ok, true)
    assert.deepEqual(value, { node: 1, element: [0, 1, 2], step: [0, 1] }[kind])
  })
}
