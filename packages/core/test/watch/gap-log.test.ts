import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import type { Pulse } from '../../src/kernel/beat.ts'
import { describeGap, GapLog, type LoopGap } from '../../src/watch/gap-log.ts'

const evidence = {
  label: 'job "parse"',
  stack: ['guilty (/a.ts:1:2)', 'main (/a.ts:9:1)'],
  certain: true,
}

/** A beat on a machine that reports nothing about its processors. */
function pulse(elapsed: number, busy: number, times: Partial<Pulse> = {}): Pulse {
  return { elapsed, busy, ran: undefined, queued: undefined, ...times }
}

test('a beat in time is not a gap', () => {
  const log = new GapLog({ interval: 50, threshold: 100, keep: 5 })
  assert.equal(log.record(pulse(50, 3), 0, undefined), undefined)
  assert.equal(log.record(pulse(54, 54), 0, undefined), undefined)
  assert.equal(log.gaps, 0)
  assert.deepEqual(log.recent, [])
})

test('a gap has the length of the busy time, its start on the wall clock, and its evidence', () => {
  const log = new GapLog({ interval: 50, threshold: 100, keep: 5 })
  // Idle for 20 ms, then stuck for 300 ms.
  const gap = log.record(pulse(320, 300), 1000, evidence)
  assert.deepEqual(gap, { startedAt: 700, ms: 300, ...evidence })
  assert.equal(log.longest, 300)
  assert.deepEqual(log.recent, [gap])
})

test("I9: a gap that is too short without the collector is the collector's", () => {
  const log = new GapLog({ interval: 50, threshold: 100, keep: 5 })
  const gap = log.record(pulse(350, 300), 1000, evidence, 250)
  const { label, stack, ...rest } = gap!
  assert.deepEqual([label, stack], [undefined, []])
  assert.deepEqual(rest, {
    startedAt: 700,
    ms: 300,
    collector: 250,
    isCollection: true,
    certain: true,
  })
  assert.equal(describeGap(gap!), 'the garbage collector, 250 of 300 ms')
  assert.deepEqual([log.gaps, log.longest], [1, 300])
})

test('I9: code that blocks for the threshold besides the collector is blamed', () => {
  const log = new GapLog({ interval: 50, threshold: 100, keep: 5 })
  const gap = log.record(pulse(350, 300), 1000, evidence, 200)
  assert.deepEqual(gap, { startedAt: 700, ms: 300, collector: 200, ...evidence })
  const half = { ran: 150, queued: 150 }
  const starved = log.record(pulse(350, 300, half), 1000, evidence, 1000)
  assert.deepEqual([starved?.ms, starved?.collector, starved?.isCollection], [150, 150, true])
  const mostly = log.record(pulse(350, 300, half), 1000, evidence, 80)
  assert.deepEqual(
    [mostly?.collector, mostly?.isCollection, mostly?.label],
    [40, undefined, evidence.label],
  )
})

test('forget() resets all figures', () => {
  const log = new GapLog({ interval: 50, threshold: 100, keep: 5 })
  log.record(pulse(320, 300), 1000, evidence)
  log.forget()
  assert.deepEqual([log.gaps, log.longest, log.recent, log.delays.count], [0, 0, [], 0])
  assert.deepEqual(log.starved, { gaps: 0, longest: 0 })
})

test('a process that was stopped while it waited for events has no gap', () => {
  const log = new GapLog({ interval: 50, threshold: 100, keep: 5 })
  assert.equal(log.record(pulse(600_000, 4), 0, undefined), undefined)
  assert.equal(log.longest, 4)
})

test('a late beat below the threshold counts as longest, but is not reported', () => {
  const log = new GapLog({ interval: 10, threshold: 100, keep: 5 })
  assert.equal(log.record(pulse(60, 55), 0, undefined), undefined)
  assert.equal(log.longest, 55)
  assert.equal(log.delays.count, 1)
  assert.equal(log.gaps, 0)
})

test('I1: with one block per beat, each of threshold + interval is reported, none below threshold', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 200 }),
      fc.integer({ min: 1, max: 500 }),
      fc.float({ min: 0, max: 1, noNaN: true }),
      fc.integer({ min: 0, max: 2000 }),
      (interval, threshold, phase, block) => {
        const log = new GapLog({ interval, threshold, keep: 1 })
        const idle = phase * interval
        // The beat is due after one interval, and comes when the block is over.
        const elapsed = Math.max(interval, idle + block)
        const gap = log.record(pulse(elapsed, block), 0, undefined)
        if (block >= threshold + interval) assert.ok(gap, 'a long block was not reported')
        if (block < threshold) assert.equal(gap, undefined, 'a short block was reported')
        if (gap !== undefined) assert.ok(Math.abs(gap.ms - block) <= interval + 1e-9)
      },
    ),
  )
})

test('I5: only the last gaps are kept, all are counted', () => {
  const log = new GapLog({ interval: 1, threshold: 10, keep: 3 })
  for (let ms = 100; ms < 200; ms++) log.record(pulse(ms, ms), 1000, undefined)
  assert.equal(log.gaps, 100)
  assert.deepEqual(
    log.recent.map((gap) => gap.ms),
    [197, 198, 199],
  )
})

test('the description names label and innermost frame, and says when it is not certain', () => {
  const gap: LoopGap = { startedAt: 0, ms: 1, ...evidence }
  assert.equal(describeGap(gap), 'job "parse" at guilty (/a.ts:1:2)')
  assert.equal(describeGap({ ...gap, label: undefined }), 'guilty (/a.ts:1:2)')
  assert.equal(describeGap({ ...gap, stack: [] }), 'job "parse"')
  assert.match(describeGap({ ...gap, certain: false }), /^job "parse" at guilty .*seen late/)
  assert.equal(
    describeGap({ ...gap, label: undefined, stack: [], certain: false }),
    'no stack could be taken',
  )
})

const busyMachine = (times: Partial<Pulse>, inNode = false) => {
  const log = new GapLog({ interval: 50, threshold: 100, keep: 5 })
  const gap = log.record(pulse(400, 350, times), 1000, { ...evidence, inNode })
  return { log, gap }
}

test('I7: a gap in which the thread waited in the run queue is not blamed on code', () => {
  const { log, gap } = busyMachine({ ran: 40, queued: 310 })
  assert.equal(gap, undefined)
  assert.equal(log.gaps, 0)
  assert.equal(log.longest, 40)
  assert.deepEqual(log.starved, { gaps: 1, longest: 310 })
})

test('I7: code that held the loop on a busy machine is blamed for its own part', () => {
  const { log, gap } = busyMachine({ ran: 200, queued: 150 })
  assert.deepEqual(gap, { startedAt: 650, ms: 200, starved: 150, ...evidence })
  assert.deepEqual(log.starved, { gaps: 0, longest: 0 })
})

test('I7: a thread that slept in a system call was not kept waiting by the machine', () => {
  assert.equal(busyMachine({ ran: 5, queued: 0 }).gap!.ms, 350)
})

test('I7: without run-queue times, the time on a processor decides for JavaScript', () => {
  assert.equal(busyMachine({ ran: 40 }).gap, undefined)
  assert.equal(busyMachine({ ran: 340 }).gap!.ms, 340)
})

test('I7: without run-queue times, a function of Node may have slept by itself', () => {
  assert.equal(busyMachine({ ran: 5 }, true).gap!.ms, 350)
})

test('I7: without any times the busy time counts', () => {
  assert.equal(busyMachine({}).gap!.ms, 350)
})

test('I7: without a stack only the time on a processor counts, with one also the time asleep', () => {
  const log = new GapLog({ interval: 50, threshold: 100, keep: 5 })
  const asleep = pulse(400, 350, { ran: 30, queued: 20 })
  assert.equal(log.record(asleep, 1000, undefined), undefined)
  assert.equal(log.record(asleep, 1000, { ...evidence, stack: [] }), undefined)
  assert.equal(log.record(asleep, 1000, { ...evidence, certain: false }), undefined)
  assert.deepEqual(log.starved, { gaps: 3, longest: 320 })
  assert.equal(log.record(asleep, 1000, evidence)!.ms, 330)
  assert.equal(log.record(asleep, 1000, { ...evidence, certain: false, inNode: true })!.ms, 330)
})
