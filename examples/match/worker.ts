/** A worker in a process of its own: `worker.ts URL NAME`. Stops when it gets SIGTERM. */
import { Worker } from '@heddle/worker'
import * as jobs from './jobs.ts'

const [server, name] = process.argv.slice(2)
const worker = new Worker({ server: server!, name, jobs, concurrency: 1 })
process.once('SIGTERM', () => void worker.stop({ deadline: 2_000 }))
process.exitCode = (await worker.run()).exitCode
