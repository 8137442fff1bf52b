import pMap, { pMapSkip } from 'p-map'
import { numbers } from '../suites/map/conditions.ts'

/** Uses p-map the way programs do that keep no results. */
export async function playPMap(size: number, concurrency: number): Promise<void> {
  let done = 0
  await pMap(
    numbers(size),
    // oxlint-disable-next-line require-await -- a mapper of p-map returns a promise
    async () => {
      done++
      return pMapSkip
    },
    { concurrency },
  )
  if (done !== size) throw new Error(`${done} of ${size} were done`)
}
