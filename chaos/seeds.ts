/** `npm run test:chaos -- growing-seeds|limit-seeds|store-seeds --seeds 10000 --from 1`: simulations in virtual time, one for each seed. */
import { parseArgs } from 'node:util'
import { wholeNumbers } from './call.ts'

/** Plays one seed. Resolves with its counts; rejects when something is wrong. */
type PlaySeed = (seed: number) => Promise<Readonly<Record<string, number>>>

/** Resolves with the exit code. */
export async function playSeeds(args: readonly string[], play: PlaySeed): Promise<number> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      seeds: { type: 'string', default: '10000' },
      from: { type: 'string', default: '1' },
    },
  })
  const sum: Record<string, number> = {}
  const { seeds, from } = wholeNumbers(values, ['seeds', 'from'])
  for (let seed = from; seed < from + seeds; seed++) {
    try {
      for (const [key, count] of Object.entries(await play(seed))) {
        sum[key] = (sum[key] ?? 0) + count
      }
    } catch (error) {
      console.error(`seed ${seed}:`, error)
      return 1
    }
  }
  const { user, system } = process.cpuUsage()
  const seconds = ((user + system) / 1e6).toFixed(0)
  console.log(`${seeds} seeds, ${seconds} s of CPU: ${JSON.stringify(sum)}`)
  return 0
}
