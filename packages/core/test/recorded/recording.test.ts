import { build, node, tell, told, withFolder, zero, goOn, type Row, type Story } from './kit.ts'
import assert from 'node:assert/strict'
import path from 'node:path'
import { test } from 'node:test'
import fc from 'fast-check'
import { Graph, job, startRun } from '@heddle/core'
import { openJournal, seededRandom, type Journal } from '@heddle/core/lowlevel'
import { replayRun, VirtualClock } from '@heddle/core/testing'
import {
  lastSession,
  makeRecording,
  type Recording,
  type RecordingKind,
} from '../../src/recorded/recording.ts'

async function recordingOf(journal: Journal, id: string, kind: RecordingKind): Promise<Recording> {
  const rows = lastSession(await Array.fromAsync(journal.history(id)))
  return makeRecording(kind, await journal.snapshot(id), rows)
}

async function recorded(story: Story, kind: RecordingKind): Promise<Recording> {
  await using journal = await told(story)
  return await recordingOf(journal, '20261115-224501-k3f9q2', kind)
}

async function checkReplay({ run, starts, ends, states }: Recording): Promise<void> {
  const clock = new VirtualClock()
  const replay = await replayRun(run, { clock })
  assert.deepEqual(replay.starts, starts)
  assert.deepEqual(replay.ends, ends)
  assert.deepEqual(replay.states, states)
  assert.equal(clock.pending, 0)
}

test('a recording has every attempt with its end and its error, at an instant of its own', async () => {
  const recording = await recorded(build, 'free')
  assert.deepEqual(recording.run.nodes.slice(2, 4), [
    {
      name: 'lint',
      after: ['fetch'],
      attempts: [{ endsAt: 400, error: { message: 'busy' }, retryIn: 90 }, { endsAt: 600 }],
    },
    {
      name: 'upload',
      after: ['parse'],
      attempts: [{ endsAt: 1_000, error: { name: 'TypeError', message: 'answered 503' } }],
    },
  ])
  assert.deepEqual(recording.starts, ['fetch', 'parse', 'lint', 'lint', 'upload'])
  assert.deepEqual(recording.ends, ['fetch', 'lint', 'lint', 'parse', 'upload'])
})

test('a success counts from where its first consequence is, as it did for the scheduler', async () => {
  const story: Story = {
    nodes: [node('a'), node('b'), node('c', 'a')],
    rows: [
      [0, 'a', 'ready'],
      [0, 'b', 'ready'],
      [0, 'a', 'running'],
      [0, 'b', 'running'],
      [10, 'a', 'succeeded'],
      // It fails while the success of a is written: the scheduler is notified of it first.
      [11, 'b', 'failed', { error: 'no' }],
      [13, 'c', 'ready'],
      [13, 'c', 'running'],
      [20, 'c', 'succeeded'],
      [20, 'finished'],
    ],
  }
  const recording = await recorded(story, 'free')
  assert.deepEqual(recording.ends, ['b', 'a', 'c'])
  await checkReplay(recording)
})

test('held: an order that priorities made is played by adding each node when it started', async () => {
  const story: Story = {
    nodes: [node('a'), node('low'), node('high'), node('after', 'a')],
    options: { concurrency: 1 },
    rows: [
      [0, 'a', 'ready'],
      [0, 'low', 'ready'],
      [0, 'high', 'ready'],
      [0, 'a', 'running'],
      [10, 'a', 'failed', { error: 'no' }],
      [10, 'after', 'blocked', { blockedBy: 'a' }],
      [10, 'high', 'running'],
      [20, 'high', 'succeeded'],
      [20, 'low', 'running'],
      [30, 'low', 'succeeded'],
      [30, 'finished'],
    ],
  }
  await assert.rejects(checkReplay(await recorded(story, 'free')), { code: 'ERR_ASSERTION' })
  const held = await recorded(story, 'held')
  assert.deepEqual(held.starts, ['a', 'high', 'low'])
  await checkReplay(held)
})

test('a resumed run is simulated from its last process; earlier work counts as done', () =>
  withFolder(async (folder) => {
    const address = `sqlite:${path.join(folder, 'runs.db')}`
    const id = '20261115-224501-k3f9q2'
    const first: Row[] = [
      [0, 'a', 'ready'],
      [0, 'b', 'ready'],
      [0, 'a', 'running'],
      [0, 'b', 'running'],
      [50, 'a', 'succeeded'],
    ]
    {
      await using journal = await openJournal(address)
      await tell(journal, { nodes: [node('a'), node('b'), node('c', 'a', 'b')], rows: first })
    }
    {
      await using journal = await openJournal(address, { readOnly: true })
      const cut = await recordingOf(journal, id, 'free')
      assert.equal(cut.states.get('b'), 'running')
      await checkReplay(cut)
      await checkReplay(await recordingOf(journal, id, 'held'))
    }
    await using journal = await openJournal(address)
    const writer = await journal.resumeRun(id, { pid: 2, host: 'loom', command: 'again' })
    await goOn(writer, [
      [900, 'b', 'ready'],
      [900, 'b', 'running'],
      [950, 'b', 'succeeded'],
      [950, 'c', 'ready'],
      [950, 'c', 'running'],
      [960, 'c', 'succeeded'],
      [960, 'finished'],
    ])
    const recording = await recordingOf(journal, id, 'free')
    assert.deepEqual(recording.starts, ['b', 'c'])
    assert.equal(recording.run.nodes[0]!.done, true)
    await checkReplay(recording)
  }))

/** The possible calls on a run while it runs. */
const actions = fc.array(
  fc.record({
    at: fc.nat({ max: 120 }),
    action: fc.constantFrom('pause' as const, 'resume' as const, 'cancel' as const),
  }),
  { maxLength: 3 },
)
const plans = fc.array(
  fc.record({
    ms: fc.nat({ max: 30 }),
    fails: fc.constantFrom(0, 0, 0, 1, 2),
    links: fc.array(fc.nat(), { maxLength: 2 }),
  }),
  { minLength: 1, maxLength: 12 },
)

test('property: real runs, paused, cancelled, or retried, are simulated as recorded, both ways', async () => {
  await fc.assert(
    fc.asyncProperty(
      plans,
      actions,
      fc.integer({ min: 1, max: 4 }),
      fc.nat(),
      async (plan, steps, concurrency, seed) => {
        const clock = new VirtualClock({ wallTime: zero })
        const kernel = { clock, random: seededRandom(seed) }
        await using journal = await openJournal('memory', { kernel })
        const graph = new Graph()
        for (const [i, { ms, fails, links }] of plan.entries()) {
          const work = job({ name: `n${i}` }, async (_: unknown, { attempt }) => {
            await new Promise<void>((done) => clock.setTimer(ms, done))
            if (attempt < fails) throw new Error(`attempt ${attempt}`)
            return i
          })
          const after = [...new Set(i === 0 ? [] : links.map((link) => `n${link % i}`))]
          graph.add(`n${i}`, work, { after })
        }
        const options = { concurrency, retries: 1, retryBaseDelay: 20, journal, kernel }
        const run = await startRun(graph, options)
        for (const { at, action } of steps) clock.setTimer(at, () => run.scheduler[action]())
        // A run that was left paused continues in the end.
        clock.setTimer(200, () => run.scheduler.resume())
        await clock.runUntil(run.result)
        await checkReplay(await recordingOf(journal, run.id!, 'free'))
        // Known limit of the other kind: retries that waited for a slot when the run was cancelled.
        const isCancelled = steps.some(({ action }) => action === 'cancel')
        if (isCancelled && plan.some(({ fails }) => fails > 0)) return
        await checkReplay(await recordingOf(journal, run.id!, 'held'))
      },
    ),
    { numRuns: 150 },
  )
})
