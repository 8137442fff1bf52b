import { test } from 'node:test'
import { crashRounds } from './crash-rounds.ts'

for (const durability of ['fsync', 'process'] as const) {
  test(`J2, J3: SIGKILL at random points loses nothing that was acknowledged (${durability})`, async (t) => {
    const seed = Number(process.env['HEDDLE_SEED'] ?? Math.floor(Math.random() * 2 ** 32))
    t.diagnostic(`HEDDLE_SEED=${seed}`)
    const rounds = durability === 'fsync' ? 6 : 3
    await crashRounds({ rounds, seed, durability, most: 3000 })
  })
}
