import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isError } from '../../src/errors.ts'
import { Life, type LifeOptions } from '../../src/kernel/service.ts'
import { VirtualClock } from '../../src/kernel/virtual-clock.ts'
import { serviceConformance } from '../../src/testing/service-conformance.ts'

/** A part that notes its steps. `occupied` keeps the stop step from ending by itself. */
function makePart(more: Partial<LifeOptions> = {}) {
  const clock = new VirtualClock()
  const steps: string[] = []
  const part = { occupied: false }
  const life = new Life({
    what: 'The part',
    clock,
    deadline: 1_000,
    start: async () => {
      steps.push('start')
      await Promise.resolve()
      steps.push('started')
    },
    stop: async (enough) => {
      steps.push('stop')
      if (part.occupied && !enough.aborted) {
        await new Promise((cut) => enough.addEventListener('abort', cut))
        steps.push('cut off')
      }
    },
    ...more,
  })
  return { clock, steps, life, part }
}

for (const [name, more] of [
  ['with a start step', {}],
  ['running when it is made', { start: undefined }],
] as const) {
  serviceConformance(name, () => {
    const { life, clock, part } = makePart(more as Partial<LifeOptions>)
    const service = {
      stop: life.stop.bind(life),
      stats: () => ({ state: life.state }),
      ...(name === 'with a start step' && { start: () => life.start() }),
    }
    return { service, occupy: () => void (part.occupied = true), held: () => clock.pending }
  })
}

test('V1: the stop step waits for the end of the start step', async () => {
  const { life, steps } = makePart()
  const started = life.start()
  await Promise.all([life.stop(), life.stop()])
  await started
  assert.deepEqual(steps, ['start', 'started', 'stop'])
})

test('V1: a start that fails is not stopped, and can be tried again', async () => {
  let isBroken = true
  const steps: string[] = []
  const { life } = makePart({
    start: () => {
      if (isBroken) throw new Error('no paper')
    },
    stop: () => void steps.push('stop'),
  })
  await assert.rejects(life.start(), /no paper/)
  assert.equal(life.state, 'stopped')
  await life.stop()
  assert.deepEqual(steps, [])
  isBroken = false
  await life.start()
  assert.equal(life.state, 'running')
})

test('V4: a start step that ends because of the stop is not a failure, and the stop step is left out', async () => {
  const { life, steps } = makePart({
    start: (signal) =>
      new Promise((_, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason as Error))
      }),
  })
  const started = life.start()
  await life.stop()
  await started
  assert.deepEqual([steps, life.state], [[], 'stopped'])
})

test('V4: of start, stop, start and stop the last one decides', async () => {
  const { life } = makePart()
  const calls = [life.start(), life.stop(), life.start(), life.stop()]
  await Promise.all(calls)
  assert.equal(life.state, 'stopped')
  await Promise.all([life.start(), life.stop(), life.start()])
  assert.equal(life.state, 'running')
})

test('V5: the deadline of the part counts when the caller has none; an earlier one replaces it', async () => {
  const { life, steps, clock, part } = makePart()
  await life.start()
  part.occupied = true
  const stopped = life.stop()
  await clock.advance(600)
  void life.stop({ deadline: 300 })
  await clock.advance(299)
  assert.deepEqual([life.state, steps.at(-1)], ['stopping', 'stop'])
  await clock.advance(1)
  await stopped
  assert.deepEqual([steps.at(-1), clock.pending], ['cut off', 0])
})

test('V6: a signal that a caller gave is not followed after the stop', async () => {
  const { life, clock } = makePart()
  await life.start()
  const controller = new AbortController()
  let listeners = 0
  const { signal } = controller
  const add = signal.addEventListener.bind(signal)
  const remove = signal.removeEventListener.bind(signal)
  signal.addEventListener = (...args: Parameters<typeof add>) => (listeners++, add(...args))
  signal.removeEventListener = (...args: Parameters<typeof remove>) => (
    listeners--,
    remove(...args)
  )
  await life.stop({ signal })
  assert.deepEqual([listeners, clock.pending], [0, 0])
})

test('a stop step that throws: every caller gets the error, and the part is stopped', async () => {
  const { life } = makePart({
    stop: () => {
      throw new Error('no ink')
    },
  })
  await life.start()
  const [one, two] = await Promise.allSettled([life.stop(), life.stop()])
  assert.deepEqual([one.status, two.status, life.state], ['rejected', 'rejected', 'stopped'])
  assert.ok(isError(life.closed(), 'HDL_CLOSED'))
})
