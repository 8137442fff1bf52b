/** The program of {@link startAckServer}: `serve-child.ts <store>`. Prints its address; ends when its standard input does. */
import { once } from 'node:events'
import { job } from '@heddle/core'
import { startServer } from '@heddle/server'

const echo = job({ name: 'echo' }, (input: number) => input)
const [store = 'memory'] = process.argv.slice(2)
const limits = { prepareCapacity: 10_000, tenantCapacity: 10_000, loopGap: Infinity }
await using server = await startServer({ jobs: [echo], port: 0, store, limits })
console.log(server.url)
process.stdin.resume()
await once(process.stdin, 'end')
