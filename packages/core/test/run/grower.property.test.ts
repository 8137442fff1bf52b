import assert from 'node:assert/strict'
import { test } from 'node:test'
import { playSeed } from './growing-model.ts'

/** `npm run test:chaos -- growing-seeds --seeds 10000` plays more. */
const seeds = 2_000

test(`G1 to G10: ${seeds} random graphs grow, fail, are paused, cancelled and restarted, and complete`, async (t) => {
  const sum = { lives: 0, crashes: 0, cancels: 0, pauses: 0, failures: 0 }
  for (let seed = 1; seed <= seeds; seed++) {
    try {
      const counts = await playSeed(seed)
      for (const key of Object.keys(sum) as (keyof typeof sum)[]) sum[key] += counts[key]
    } catch (error) {
      throw new Error(`seed ${seed}: ${(error as Error).message}`, { cause: error })
    }
  }
  t.diagnostic(JSON.stringify(sum))
  for (const [name, count] of Object.entries(sum)) assert.ok(count > 0, name)
})
