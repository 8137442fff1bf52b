import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runInVirtualTime } from '../../src/testing/virtual-time.ts'
import { startStub } from '../support/servers.ts'
import { virtualKernel } from '../support/virtual-time.ts'

test('waits take no time, and the clock stands still while a real request is in flight', async () => {
  await using stub = await startStub((_, response) => void setTimeout(() => response.end('x'), 30))
  const { clock } = virtualKernel()
  const sleep = (milliseconds: number): Promise<void> =>
    new Promise((done) => void clock.setTimer(milliseconds, done))
  let asking = 0
  const work = async (): Promise<number[]> => {
    const times: number[] = []
    for (let i = 0; i < 3; i++) {
      await sleep(600_000)
      asking++
      const before = clock.now()
      await (await fetch(stub.url)).text()
      times.push(clock.now() - before)
      asking--
    }
    return times
  }
  const times = await runInVirtualTime(clock, work(), { busy: () => asking > 0, step: 1000 })
  assert.deepEqual(times, [0, 0, 0])
  assert.ok(clock.now() >= 1_800_000)
})

test('an error of the work is its end', async () => {
  const { clock } = virtualKernel()
  const failing = Promise.reject(new Error('no'))
  await assert.rejects(runInVirtualTime(clock, failing, { busy: () => false }), /^Error: no$/)
})
