/**
 * The server that is loaded, in a process of its own: `serve.mjs STORE PORT`. Reports its address and its usage by IPC.
 * JavaScript, so that with `--built` nothing in it is stripped of types.
 */
import { job } from '@heddle/core'
import { startServer } from '@heddle/server'

const [store = 'memory', port = '0'] = process.argv.slice(2)
const work = job({ name: 'load', place: 'fleet', module: import.meta.url }, () => null)
const server = await startServer({
  jobs: [work],
  store,
  port: Number(port),
  threads: 1,
  limits: { connections: 30_000, backlog: 16_384 },
  fleet: { leasesPerAddress: 1_000_000 },
})
let longestRss = 0
setInterval(() => (longestRss = Math.max(longestRss, process.memoryUsage.rss())), 500).unref()
process.on('message', () => {
  const { user, system } = process.cpuUsage()
  process.send({ cpuUs: user + system, rss: Math.max(longestRss, process.memoryUsage.rss()) })
})
process.on('disconnect', () => process.exit(0))
process.send({ url: server.url })
