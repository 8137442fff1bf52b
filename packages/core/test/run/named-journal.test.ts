import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, rmSync } from 'node:fs'
import path from 'node:path'
import test from 'node:test'
import { run } from '@heddle/core'
import { VirtualClock } from '../../src/kernel/virtual-clock.ts'
import { seededRandom } from '../../src/kernel/random.ts'
import { useJournal } from '../../src/run/named-journal.ts'
import { until } from '../kernel/until.ts'
import { CountedGraph, temporaryFolder } from './kit.ts'

test('runs of one address share a journal, which is closed a second after the last of them', async (t) => {
  const folder = temporaryFolder(t)
  const address = `sqlite:${path.join(folder, 'runs.db')}`
  const clock = new VirtualClock()
  const kernel = { clock, random: seededRandom(1) }
  const first = await useJournal(address, kernel, {})
  const second = await useJournal(address, kernel, {})
  assert.equal(first.value, second.value)
  first.release()
  second.release()
  await clock.advance(900)
  const third = await useJournal(address, kernel, {})
  assert.equal(third.value.stats().failed, false)
  await third.value.runs()
  third.release()
  const writers = path.join(folder, 'runs.db.writers')
  assert.equal(readdirSync(writers).length, 1)
  await clock.advance(1001)
  await until(() => readdirSync(writers).length === 0)
})

test('runs at the same time and one after the other share a named journal', async (t) => {
  const address = `sqlite:${path.join(temporaryFolder(t), 'runs.db')}`
  const graphs = Array.from({ length: 3 }, () => new CountedGraph().add({ a: [] }).graph)
  const results = await Promise.all(graphs.map((graph) => run(graph, { journal: address })))
  const last = await run(graphs[0]!, { journal: address })
  assert.equal(new Set([...results, last].map((result) => result.run)).size, 4)
})

test('a journal that was deleted between two runs is created again', async (t) => {
  const file = path.join(temporaryFolder(t), 'runs.db')
  const { graph } = new CountedGraph().add({ a: [] })
  await run(graph, { journal: file })
  for (const end of ['', '-wal', '-shm']) rmSync(`${file}${end}`, { force: true })
  const { run: id } = await run(graph, { journal: file })
  assert.ok(existsSync(file))
  const { run: recorded } = await run(graph, { journal: file, resume: id! })
  assert.equal(recorded, id)
})

test('a journal that is kept open does not keep the process alive, and is closed before it ends', (t) => {
  const file = path.join(temporaryFolder(t), 'runs.db')
  const program = `
    import { Graph, job, run } from '@heddle/core'
    const graph = new Graph()
    graph.add('a', job({ name: 'a' }, () => 1))
    await run(graph, { journal: process.argv[1] })
    const at = performance.now()
    process.on('exit', () => console.log(performance.now() - at < 900))
  `
  // On a machine with more work than processors the process itself can be late.
  for (let tries = 10; tries > 0; tries--) {
    const { stdout, stderr } = spawnSync(
      process.execPath,
      ['--conditions=heddle-source', '--input-type=module', '-e', program, file],
      { cwd: import.meta.dirname, encoding: 'utf8' },
    )
    assert.equal(stderr, '')
    assert.equal(existsSync(`${file}-wal`), false)
    assert.deepEqual(readdirSync(`${file}.writers`), [])
    if (stdout === 'true\n') return
  }
  assert.fail('every process ended after the time for which a journal is kept open')
})
