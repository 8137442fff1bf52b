/** A process that serves one job, of this checkout or of another one. Its first line says where. */
import { pathToFileURL } from 'node:url'
import path from 'node:path'
import type * as core from '@heddle/core'
import type * as served from '@heddle/server'

const [checkout = '.', limits = '{}'] = process.argv.slice(2)
const packages = path.resolve(checkout, 'packages')
const load = (file: string): Promise<unknown> =>
  import(pathToFileURL(path.join(packages, file)).href)

const { job } = (await load('core/src/index.ts')) as typeof core
const { startServer } = (await load('server/src/index.ts')) as typeof served

const echo = job({ name: 'echo' }, (input: unknown) => input)
const server = await startServer({
  jobs: [echo],
  port: 0,
  limits: JSON.parse(limits) as object,
})
process.stdout.write(`${JSON.stringify({ host: server.host, port: server.port })}\n`)
// The program that has started it ends it: by a message, or by leaving.
process.on('disconnect', () => process.exit(0))
process.on('message', () =>
  process.send!({ stats: server.stats(), memory: process.memoryUsage().rss }),
)
