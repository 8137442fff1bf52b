/**
 * Kills a process that writes to a journal, many times, and checks each time that nothing that was
 * acknowledged is lost: `node kill-writer.ts [--rounds 200] [--seed N]`.
 */
import { parseArgs } from 'node:util'
import { crashRounds } from '../sqlite/crash-rounds.ts'

const { values } = parseArgs({
  options: { rounds: { type: 'string', default: '200' }, seed: { type: 'string' } },
})
const seed = Number(values.seed ?? Math.floor(Math.random() * 2 ** 32))
console.log(`seed ${seed}`)
for (const durability of ['fsync', 'process'] as const) {
  const rounds = Math.ceil(Number(values.rounds) / 2)
  const report = (line: string): void => console.log(`${durability}: ${line}`)
  await crashRounds({ rounds, seed, durability, most: 20_000, report })
}
