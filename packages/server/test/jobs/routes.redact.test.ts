/** What people see of jobs with `redact`: in the log of the server, in runs and in errors. */
import assert from 'node:assert/strict'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { test } from 'node:test'
import { Graph, job } from '@heddle/core'
import { connect } from '../../src/client/index.ts'
import { startServer } from '../../src/index.ts'
import { call } from '../support/client.ts'
import { compute, quiet } from '../support/http.ts'

const secret = 'sesame-4711'

test('a secret of an input is in no log line, error or run; its caller gets the result', async (t) => {
  const folder = await mkdtemp(path.join(tmpdir(), 'heddle-redact-'))
  t.after(() => rm(folder, { recursive: true }))
  const file = path.join(folder, 'log')
  const login = job(
    { name: 'login', redact: ['password'], retries: 1, retryBaseDelay: 0 },
    ({ password, isRefused }: { password: string; isRefused: boolean }, ctx) => {
      ctx.log(`trying ${password}`)
      if (isRefused) throw new Error(`refused ${password}`)
      return { password, session: 7 }
    },
  )
  const signIn = (): Graph => {
    const graph = new Graph()
    graph.add('sign in', login, { input: { password: secret, isRefused: false } })
    return graph
  }
  const lines: string[] = []
  {
    await using server = await startServer({
      jobs: { login, graphs: { signIn } },
      port: 0,
      store: `sqlite:${path.join(folder, 'store.db')}`,
      errorDetails: 'everyone',
      log: { to: file, level: 'debug' },
      onLog: ({ text }) => lines.push(text),
    })
    const good = await compute(server, 'login', { password: secret, isRefused: false }).reply
    assert.deepEqual(good.body['result'], { password: secret, session: 7 })
    const bad = await compute(server, 'login', { password: secret, isRefused: true }).reply
    assert.equal(bad.status, 500)
    assert.equal(bad.body.error?.message, 'refused [redacted]')
    assert.ok(lines.some((line) => line.includes('trying [redacted]')))

    const started = await call(server, '/runs', { body: { graph: 'signIn' } })
    const run = String(started.body['run'])
    const read = (rest: string): Promise<Record<string, unknown>> =>
      call(server, `/runs/${run}${rest}`).then(({ body }) => body)
    // The stream ends with the run.
    const events = connect({ url: server.url }).events('GET /runs/:id/events', {
      params: { id: run },
    })
    for await (const { event } of events) if (event === 'end') break
    const node = await read('/nodes/sign%20in')
    assert.deepEqual((node['result'] as { json: unknown }).json, {
      password: '[redacted]',
      session: 7,
    })
    assert.deepEqual(await read('/nodes/sign%20in/result'), { password: '[redacted]', session: 7 })
    assert.match(JSON.stringify(await read('/log')), /trying \[redacted\]/)
    await quiet(server)
  }
  const written = await readFile(file, 'utf8')
  assert.match(written, /refused \[redacted\]/)
  assert.doesNotMatch(written + lines.join('\n'), new RegExp(secret))
})
