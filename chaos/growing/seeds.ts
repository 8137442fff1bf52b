/** `npm run test:chaos -- growing-seeds --seeds 10000 --from 1`: random growing graphs in virtual time. */
import { parseArgs } from 'node:util'
import { playSeed } from '../../packages/core/test/run/growing-model.ts'

export async function playSeeds(args: readonly string[]): Promise<number> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      seeds: { type: 'string', default: '10000' },
      from: { type: 'string', default: '1' },
    },
  })
  const sum = { lives: 0, crashes: 0, cancels: 0, pauses: 0, failures: 0 }
  const first = Number(values.from)
  for (let seed = first; seed < first + Number(values.seeds); seed++) {
    try {
      const counts = await playSeed(seed)
      for (const key of Object.keys(sum) as (keyof typeof sum)[]) sum[key] += counts[key]
    } catch (error) {
      console.error(`seed ${seed}:`, error)
      return 1
    }
  }
  console.log(`${values.seeds} seeds: ${JSON.stringify(sum)}`)
  return 0
}
