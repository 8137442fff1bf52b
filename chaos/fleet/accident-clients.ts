/** Some clients of the fleet in one process: `accident-clients.ts SERVERS NAME COUNT`. Ends when its parent does. */
import { job } from '@heddle/core'
import { Worker } from '@heddle/worker'
import { play } from './accident-jobs.ts'

const [servers, name, count] = process.argv.slice(2)
const ends: Promise<unknown>[] = []
const workers: Worker[] = []
for (let each = 0; each < Number(count); each++) {
  const worker = new Worker({
    server: servers!,
    name: `${name}-${each}`,
    // Jobs without a module run on the loop, which these units do not keep busy.
    jobs: [job({ name: 'unit' }, play)],
    concurrency: 1,
  })
  workers.push(worker)
  ends.push(worker.run())
}
process.once('SIGTERM', () => {
  for (const worker of workers) void worker.stop({ deadline: 5_000 })
})
process.once('disconnect', () => process.exit(1))
await Promise.all(ends)
process.disconnect?.()
