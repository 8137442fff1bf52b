import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'
import { Worker } from 'node:worker_threads'
import { startBeat, type Pulse } from '../../src/kernel/beat.ts'

function block(milliseconds: number): void {
  const until = performance.now() + milliseconds
  while (performance.now() < until) continue
}

/** Real beats need a loop that stays: the beat itself keeps nothing alive. */
function beats(count: number, interval: number, onFirst: () => void = () => {}) {
  return new Promise<{ elapsed: number; busy: number }[]>((resolve) => {
    const seen: { elapsed: number; busy: number }[] = []
    const alive = setInterval(() => {}, 1000)
    const beat = startBeat(interval, ({ elapsed, busy }) => {
      seen.push({ elapsed, busy })
      if (seen.length === 1) onFirst()
      if (seen.length < count) return
      beat.stop()
      clearInterval(alive)
      resolve(seen)
    })
  })
}

test('each beat reports the time since the last one, and busy time never exceeds it', async () => {
  for (const { elapsed, busy } of await beats(5, 2)) {
    assert.ok(elapsed > 0)
    assert.ok(busy >= 0 && busy <= elapsed)
  }
})

test('a block is busy time', async () => {
  const [, blocked] = await beats(2, 5, () => block(60))
  assert.ok(blocked!.elapsed >= 60)
  assert.ok(blocked!.busy >= 59, `busy for ${blocked!.busy} ms`)
})

test('waiting is not busy time', async () => {
  // Some pair of beats is enough: on a busy machine the process may never have waited between the others.
  const seen = await beats(20, 5)
  assert.ok(seen.some(({ elapsed, busy }) => busy < elapsed))
})

test('flush() beats at once, stop() twice is harmless and ends the beats', () => {
  let count = 0
  const beat = startBeat(1, () => count++)
  beat.flush()
  assert.equal(count, 1)
  block(3)
  assert.ok(beat.elapsed() >= 3)
  beat.stop()
  beat.stop()
})

test('the beat does not keep its thread alive', async () => {
  const source = `import('${new URL('../../src/kernel/beat.ts', import.meta.url).href}').then((m) => m.startBeat(1, () => {}))`
  const [code] = (await once(new Worker(source, { eval: true }), 'exit')) as [number]
  assert.equal(code, 0)
})

test('processor times are reported as differences between beats, and the source is disposed once', () => {
  const times = [
    { ran: 100, queued: 50 },
    { ran: 130, queued: 57 },
    { ran: undefined, queued: undefined },
  ]
  let disposed = 0
  const processor = {
    read: () => times.shift()!,
    [Symbol.dispose]: () => void disposed++,
  }
  const seen: Pulse[] = []
  const beat = startBeat(1_000_000, (pulse) => seen.push(pulse), processor)
  beat.flush()
  beat.flush()
  beat.stop()
  beat.stop()
  assert.deepEqual(
    seen.map(({ ran, queued }) => ({ ran, queued })),
    [
      { ran: 30, queued: 7 },
      { ran: undefined, queued: undefined },
    ],
  )
  assert.equal(disposed, 1)
})
