/** Fastify that computes where it answers. Also the cost of a cached result and of a large one for Fastify alone. */
import Fastify from 'fastify'
import { large, work } from '../work.ts'
import { report } from './report.ts'

const app = Fastify()
const page = JSON.stringify({ result: large() })
app.get('/healthz', () => ({ status: 'ok' }))
app.post('/jobs/compute', ({ body }) => ({ result: work(body as number) }))
// The same length as the answer of ours.
const handle = `echo-${'0'.repeat(64)}`
app.get('/cached', () => ({ handle, index: 0, total: 1, result: 1 }))
app.get('/page', (_, reply) => reply.type('application/json').send(page))
report(await app.listen({ port: 0 }))
