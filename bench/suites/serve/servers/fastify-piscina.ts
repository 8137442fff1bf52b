/** A common hand-written server: Fastify, and piscina with as many threads as the machine runs. */
import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import Fastify from 'fastify'
import { Piscina } from 'piscina'
import { report } from './report.ts'

const pool = new Piscina<number, string>({
  filename: fileURLToPath(new URL('work-thread.ts', import.meta.url)),
  maxThreads: Math.max(2, availableParallelism()),
})
const app = Fastify()
app.get('/healthz', () => ({ status: 'ok' }))
app.post('/jobs/compute', async ({ body }) => ({ result: await pool.run(body as number) }))
report(await app.listen({ port: 0 }))
