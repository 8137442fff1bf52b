import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Throttle } from '../../src/kernel/throttle.ts'
import { manualClock } from './manual-clock.ts'

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

class Recorder {
  readonly clock = manualClock()
  readonly starts: number[] = []
  #end = (): void => {}
  readonly throttle = new Throttle(
    () => {
      this.starts.push(this.clock.wallTime())
      return new Promise((resolve) => {
        this.#end = resolve
      })
    },
    100,
    this.clock,
  )

  async end(): Promise<void> {
    this.#end()
    await turn()
  }
}

test('T1, T3 three calls at once are two runs', async () => {
  const recorder = new Recorder()
  recorder.throttle.call()
  recorder.throttle.call()
  recorder.throttle.call()
  recorder.clock.advance(500)
  assert.deepEqual(recorder.starts, [0])
  await recorder.end()
  recorder.clock.advance(0)
  assert.deepEqual(recorder.starts, [0, 500])
  await recorder.end()
  recorder.clock.advance(1_000)
  assert.deepEqual(recorder.starts, [0, 500])
})

test('T2 two starts are at least the interval apart', async () => {
  const recorder = new Recorder()
  recorder.throttle.call()
  await recorder.end()
  recorder.clock.advance(30)
  recorder.throttle.call()
  assert.deepEqual(recorder.starts, [0])
  recorder.clock.advance(70)
  assert.deepEqual(recorder.starts, [0, 100])
})

test('stop() drops the pending call', async () => {
  const recorder = new Recorder()
  recorder.throttle.call()
  recorder.throttle.call()
  recorder.throttle.stop()
  await recorder.end()
  recorder.clock.advance(1_000)
  recorder.throttle.call()
  assert.deepEqual(recorder.starts, [0])
})
