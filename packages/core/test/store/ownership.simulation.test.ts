import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'
import { Worker } from 'node:worker_threads'
import { simulate, type Plant } from './simulation/cluster.ts'

const seeds = Number(process.env['HEDDLE_SEEDS'] ?? 10_000)
const first = Number(process.env['HEDDLE_SEED'] ?? 1)
/** Seeds in one test, so that each ends well within its time on a busy machine. */
const perTest = 500

for (let from = first; from < first + seeds; from += perTest) {
  const to = Math.min(from + perTest, first + seeds) - 1
  test(`C1 to C9 and C13 hold while servers die, stop and lose links: seeds ${from} to ${to}`, async () => {
    // The test runner follows every promise of its own thread, which more than doubles the time of a simulation.
    const file = new URL('simulation/play-seeds.ts', import.meta.url)
    await once(new Worker(file, { workerData: { from, to }, execArgv: [] }), 'exit')
  })
}

const plants: readonly Plant[] = [
  'no epoch check',
  'lost answer taken for success',
  'margin zero',
  'session not fenced',
  'start without trust',
  'correctness depends on a wake',
  'not_owner taken for done',
  'a forwarded request is sent on',
]

for (const plant of plants) {
  test(`the simulation finds a planted fault: ${plant}`, async (t) => {
    for (let seed = 1; seed <= 2_000; seed++) {
      try {
        await simulate({ seed, plant })
      } catch (error) {
        t.diagnostic(`seed ${seed}: ${(error as Error).message}`)
        return
      }
    }
    assert.fail('2,000 seeds did not find it')
  })
}
