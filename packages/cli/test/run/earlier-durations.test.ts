import assert from 'node:assert/strict'
import test from 'node:test'
import { run } from '@heddle/core'
import {
  openJournal,
  type NodeSnapshot,
  type RunSnapshot,
  type RunSummary,
} from '@heddle/core/lowlevel'
import { earlierDurations } from '../../src/run/earlier-durations.ts'
import { graphOf } from '../support/graphs.ts'

type Fake = Partial<RunSnapshot> & { readonly id: string }

function journalOf(fakes: readonly Fake[]): Parameters<typeof earlierDurations>[0] {
  const runs = fakes.map((fake) => ({ counts: {}, ...fake }))
  return {
    runs: async () => runs as readonly RunSummary[],
    snapshot: async (id) => runs.find((one) => one.id === id) as RunSnapshot,
  }
}

function took(name: string, ms: number | undefined, state = 'succeeded'): NodeSnapshot {
  return {
    name,
    state,
    startedAt: 100,
    ...(ms !== undefined && { endedAt: 100 + ms }),
  } as NodeSnapshot
}

test('the median of the last three finished runs of the same title', async () => {
  const durations = await earlierDurations(
    journalOf([
      { id: '6', title: 'x', state: 'interrupted', nodes: [took('a', 1)] },
      { id: '5', title: 'other', state: 'finished', nodes: [took('a', 1)] },
      { id: '4', title: 'x', state: 'finished', nodes: [took('a', 40), took('b', 5, 'failed')] },
      { id: '3', title: 'x', state: 'finished', nodes: [took('a', 10), took('c', undefined)] },
      { id: '2', title: 'x', state: 'finished', nodes: [took('a', 20), took('d', 7)] },
      { id: '1', title: 'x', state: 'finished', nodes: [took('a', 9_000)] },
    ]),
    'x',
  )
  assert.deepEqual(
    [...durations],
    [
      ['a', 20],
      ['d', 7],
    ],
  )
})

test('for large runs only as much is read as the start can wait for', async () => {
  const finished = { title: 'x', state: 'finished' } as const
  const known = async (...sizes: number[]): Promise<number[]> => {
    const runs = sizes.map((succeeded, i) => {
      const id = String(i)
      return { ...finished, id, counts: { succeeded, failed: 1 }, nodes: [took(id, 5)] }
    })
    return [...(await earlierDurations(journalOf(runs), 'x')).keys()].map(Number)
  }
  assert.deepEqual(await known(9_000, 9_000, 9_000), [0, 1, 2])
  assert.deepEqual(await known(20_000, 20_000, 10), [0])
  assert.deepEqual(await known(30_000, 10), [])
})

test('a journal without such runs knows nothing; one with a real run knows its nodes', async () => {
  await using journal = await openJournal('memory')
  assert.equal((await earlierDurations(journal, 'x')).size, 0)
  await run(graphOf('a', 'b:a'), { journal, title: 'x' })
  const durations = await earlierDurations(journal, 'x')
  assert.deepEqual([...durations.keys()].toSorted(), ['a', 'b'])
})
