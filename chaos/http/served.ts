/** A process that serves one job, of this checkout or of another one. Its first line says where. */
import { setTimeout } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import path from 'node:path'
import type * as core from '@heddle/core'
import type * as served from '@heddle/server'

const [checkout = '.', limits = '{}', store = 'memory'] = process.argv.slice(2)
const packages = path.resolve(checkout, 'packages')
const load = (file: string): Promise<unknown> =>
  import(pathToFileURL(path.join(packages, file)).href)

const { job } = (await load('core/src/index.ts')) as typeof core
const { startServer } = (await load('server/src/index.ts')) as typeof served

const echo = job({ name: 'echo' }, (input: unknown) => input)
/** Takes a few milliseconds of waiting, so that a server that ends has something under way. */
const later = job({ name: 'later' }, async (n: number) => {
  await setTimeout(n % 20)
  return n
})
const server = await startServer({
  jobs: [echo, later],
  port: 0,
  store,
  limits: JSON.parse(limits) as object,
})
process.stdout.write(`${JSON.stringify({ host: server.host, port: server.port })}\n`)
// The program that has started it ends it: by a message, or by leaving.
process.on('disconnect', () => process.exit(0))
process.on('message', () =>
  process.send!({ stats: server.stats(), memory: process.memoryUsage().rss }),
)
// As `heddle serve` does it.
process.on('SIGTERM', () => {
  void server.drain().then(({ isClean }) => process.exit(isClean ? 0 : 1))
})
