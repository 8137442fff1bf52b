/** One of the servers: `accident-serve.ts STORE PORT`. Says by IPC where it is; ends when its parent does. */
import { job } from '@heddle/core'
import { startServer } from '@heddle/server'
import { play } from './accident-jobs.ts'

const [store, port] = process.argv.slice(2)
const server = await startServer({
  jobs: [job({ name: 'unit', place: 'fleet', module: import.meta.url }, play)],
  store: store!,
  port: Number(port),
  threads: 1,
  limits: { loopGap: Infinity },
  fleet: { leasesPerAddress: 10_000 },
})
process.once('disconnect', () => process.exit(0))
process.send!({ url: server.url })
