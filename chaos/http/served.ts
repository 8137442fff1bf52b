/** A process that serves some jobs, of this checkout or of another one. Its first line says where. */
import { setTimeout } from 'node:timers/promises'
import { getHeapSpaceStatistics } from 'node:v8'
import { pathToFileURL } from 'node:url'
import path from 'node:path'
import type * as core from '@heddle/core'
import type * as served from '@heddle/server'
import type { Kept } from './serve.ts'

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
// They are made with the sources of this checkout.
const isOwn = path.resolve(checkout) === path.resolve(import.meta.dirname, '../..')
const large = isOwn ? Object.values(await import('./large-jobs.ts')) : []
const server = await startServer({
  jobs: [echo, later, ...large],
  port: 0,
  store,
  limits: JSON.parse(limits) as object,
  onLog: ({ level, text }) => level === 'warning' && process.stderr.write(`${text}\n`),
})
process.stdout.write(`${JSON.stringify({ host: server.host, port: server.port })}\n`)
// The program that has started it ends it: by a message, or by leaving.
process.on('disconnect', () => process.exit(0))
process.on('message', (question) => {
  if (question === 'look') {
    process.send!({ stats: server.stats(), memory: process.memoryUsage().rss })
    return
  }
  void collected().then((kept) => process.send!(kept))
})

/** The memory in which V8 keeps compiled code: it grows for as long as a process runs code it has rarely run. */
const codeSpaces = /code|trusted/

/** Twice, with turns between them: finalizers of the first collection free memory that the second finds. */
async function collected(): Promise<Kept> {
  for (let times = 0; times < 2; times++) {
    globalThis.gc?.()
    await setTimeout(20)
  }
  const { heapUsed, external: buffers } = process.memoryUsage()
  let code = 0
  for (const space of getHeapSpaceStatistics()) {
    if (codeSpaces.test(space.space_name)) code += space.space_used_size
  }
  return { heap: heapUsed - code, code, buffers }
}
// The same signal handling as `heddle serve`.
process.on('SIGTERM', () => {
  void server.drain().then(({ isClean }) => process.exit(isClean ? 0 : 1))
})
