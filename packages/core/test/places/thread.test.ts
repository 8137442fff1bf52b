import assert from 'node:assert/strict'
import test from 'node:test'
import { Graph, run, type RunEvent } from '@heddle/core'
import { threadPlace } from '../../src/places/thread.ts'
import { ThreadPool } from '../../src/threads/pool.ts'
import { exits, says, square } from '../run/fixtures/jobs.ts'

test('a run with more slots than the pool has room waits instead of being refused', async () => {
  await using pool = new ThreadPool({ threads: 1, maxQueue: 1 })
  const g = new Graph()
  const refs = Array.from({ length: 30 }, (_, n) => g.add(`n${n}`, square, { input: n }))
  const result = await run(g, { concurrency: 30, places: { thread: threadPlace(pool) } })
  assert.equal(result.ok, true)
  assert.deepEqual(
    refs.map((ref) => result.of(ref).value),
    refs.map((_, n) => n * n),
  )
  assert.equal(pool.stats().refused, 0)
})

test('what a job says in a thread reaches the observers, with its name and attempt', async () => {
  const events: RunEvent[] = []
  const g = new Graph()
  g.add('talker', says, { input: 'hello' })
  await run(g, { observer: (event) => events.push(event) })
  const logs = events.filter((event) => event.type === 'log')
  assert.deepEqual(
    logs.map(({ name, attempt, text }) => ({ name, attempt, text })),
    [{ name: 'talker', attempt: 0, text: 'hello' }],
  )
})

test('a job that ends its thread is put in quarantine by node, not for all nodes of the job', async () => {
  await using pool = new ThreadPool({ threads: 1, crashLimit: 2 })
  const places = { thread: threadPlace(pool) }
  const g = new Graph()
  g.add('poison', exits)
  for (let i = 0; i < 2; i++) await run(g, { places })
  assert.match(String((await run(g, { places })).failed.get('poison')), /not started again/)
  const other = new Graph()
  other.add('other', exits)
  assert.match(String((await run(other, { places })).failed.get('other')), /ended: /)
})
