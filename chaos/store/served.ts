/** A server on the store of a cluster, in a process of its own. Its first line says where it listens. */
import { setTimeout as sleep } from 'node:timers/promises'
import { job } from '@heddle/core'
import { startServer } from '@heddle/server'
import { timeOf } from './work-time.ts'

const [store = ''] = process.argv.slice(2)

const work = job({ name: 'work' }, async (n: number, { signal }) => {
  await sleep(timeOf(n), undefined, { signal })
  return n * 2
})
const limits = { loop: 64, prepareCapacity: 2_000, loopGap: Infinity, drain: 1_000 }
const server = await startServer({ jobs: [work], store, port: 0, threads: 1, limits })
process.stdout.write(`${JSON.stringify({ url: server.url })}\n`)
process.on('disconnect', () => process.exit(0))
