import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import path from 'node:path'
import test from 'node:test'
import { Graph, isError, job, run } from '@heddle/core'
import { openJournal } from '@heddle/core/lowlevel'
import { systemKernel } from '../../src/kernel/kernel.ts'
import {
  openRunJournal,
  type RunJournal,
  type RunJournalOptions,
} from '../../src/run/run-journal.ts'
import { CountedGraph, journals, temporaryFolder } from './kit.ts'

test('a journal that was given by its address is opened and let go again', async (t) => {
  const address = `sqlite:${path.join(temporaryFolder(t), 'runs.db')}`
  const first = new CountedGraph().add({ a: [], b: ['a'] })
  first.failing.add('b')
  const failed = await run(first.graph, { journal: address, title: 'by address' })
  const second = new CountedGraph().add({ a: [], b: ['a'] })
  const ended = await run(second.graph, { journal: address, resume: true })
  assert.equal(ended.run, failed.run)
  assert.deepEqual(second.calls, ['b'])

  await using journal = await openJournal(address)
  const [found, ...others] = await journal.runs()
  assert.deepEqual([found!.id, found!.title, found!.pid], [failed.run, 'by address', process.pid])
  assert.deepEqual(others, [])
})

test('a journal that the caller opened stays open, for several runs at the same time', async (t) => {
  const journal = await journals['sqlite']!(t)
  const graphs = Array.from({ length: 5 }, () => new CountedGraph().add({ a: [], b: ['a'] }))
  const results = await Promise.all(graphs.map(({ graph }) => run(graph, { journal })))
  assert.equal(new Set(results.map((result) => result.run)).size, 5)
  const runs = await journal.runs()
  assert.deepEqual(
    runs.map(({ state, counts }) => [state, counts]),
    runs.map(() => ['finished', { succeeded: 2 }]),
  )
})

test('limits of the run are kept as plain data, without clocks and observers', async (t) => {
  const journal = await journals['memory']!(t)
  const { graph } = new CountedGraph().add({ a: [] })
  const options = { concurrency: Infinity, retries: 2, resources: { upload: 3 } }
  const { run: id } = await run(graph, { journal, ...options, kernel: systemKernel, observer() {} })
  assert.deepEqual((await journal.snapshot(id!)).options, options)
})

test('a wrong limit of a node leaves the journal unlocked, and nothing of the run in it', async (t) => {
  const address = `sqlite:${path.join(temporaryFolder(t), 'runs.db')}`
  const graph = new Graph()
  graph.add(
    'a',
    job({ name: 'a' }, () => 1),
    { needs: { unknown: 1 } },
  )
  for (let i = 0; i < 2; i++) {
    await assert.rejects(run(graph, { journal: address }), (error) =>
      isError(error, 'HDL_BAD_OPTION'),
    )
  }
  const journal = await journals['memory']!(t)
  await assert.rejects(run(graph, { journal }))
  assert.deepEqual(await journal.runs(), [])
  await using reopened = await openJournal(address)
  assert.deepEqual(await reopened.runs(), [])
})

test('a run that could not be opened leaves nothing open', async (t) => {
  const address = `sqlite:${path.join(temporaryFolder(t), 'runs.db')}`
  const { graph } = new CountedGraph().add({ a: [] })
  const limits = {}
  await assert.rejects(
    openRunJournal(graph, { journal: address, resume: true, limits }, systemKernel),
  )
  const open = async (more: Partial<RunJournalOptions> = {}): Promise<RunJournal> => {
    const opened = await openRunJournal(graph, { journal: address, limits, ...more }, systemKernel)
    assert.ok('close' in opened)
    return opened
  }
  const first = await open()
  const beside = await open()
  assert.notEqual(beside.runId, first.runId)
  const resume = first.runId
  await assert.rejects(open({ resume }), (error) => {
    assert.ok(isError(error, 'HDL_LOCKED'))
    assert.match(error.message, new RegExp(`pid ${process.pid} `))
    return true
  })
  await first.close()
  await beside.close()
  await (await open({ resume })).close()
})

test('a program without a journal does not load SQLite', (t) => {
  const program = `
    import { Graph, job, run } from '@heddle/core'
    const graph = new Graph()
    graph.add('a', job({ name: 'a' }, () => 1))
    const loaded = () => process.moduleLoadList.some((name) => name.includes('sqlite'))
    const { run: id } = await run(graph)
    const before = loaded()
    await run(graph, { journal: 'sqlite:' + process.argv[1] })
    console.log(id, before, loaded())
  `
  const file = path.join(temporaryFolder(t), 'runs.db')
  const { stdout, stderr } = spawnSync(
    process.execPath,
    ['--conditions=heddle-source', '--input-type=module', '-e', program, file],
    { cwd: import.meta.dirname, encoding: 'utf8' },
  )
  assert.deepEqual([stdout, stderr], ['undefined false true\n', ''])
})
