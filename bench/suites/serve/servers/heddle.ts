/** A Heddle server with default options: `heddle.ts STORE`. */
import { job } from '@heddle/core'
import { startServer } from '@heddle/server'
import { large, work } from '../work.ts'
import { report } from './report.ts'

/** Found by the threads, which import this module. */
export const compute = job({ name: 'compute', place: 'thread', module: import.meta.url }, work)
const echo = job({ name: 'echo' }, (n: number) => n)
const page = job({ name: 'page' }, large)

if (process.send !== undefined) {
  const [store = 'memory'] = process.argv.slice(2)
  const server = await startServer({ jobs: [compute, echo, page], store, port: 0 })
  report(server.url)
}
