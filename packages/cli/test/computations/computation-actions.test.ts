import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import type { AddressInfo } from 'node:net'
import os from 'node:os'
import path from 'node:path'
import { test } from 'node:test'
import { job } from '@heddle/core'
import { startServer } from '@heddle/server'
import { runProgram } from '../support/program.ts'

const heddle = (url: string, ...args: string[]) =>
  runProgram(['computations', ...args, '--server', url], { cwd: os.tmpdir() })

test('C13: a job that no server can resume is listed as waiting, with the reason; a retry reports the same, a cancel ends it', async (t) => {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'heddle-computations-'))
  t.after(() => rm(folder, { recursive: true }))
  const store = `sqlite:${folder}/serve.db`
  const endless = job({ name: 'endless' }, (_: unknown, { signal }) => {
    return new Promise((_resolve, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true })
    })
  })
  const other = job({ name: 'other' }, () => 1)
  let handle: string
  {
    const first = await startServer({ jobs: [endless], port: 0, store })
    const answer = await fetch(`${first.url}/jobs/endless`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{}',
    })
    assert.equal(answer.status, 202)
    ;({ handle } = (await answer.json()) as { handle: string })
    const listed = await heddle(first.url, '--json')
    const { computations } = JSON.parse(listed.stdout) as { computations: { handle: string }[] }
    assert.deepEqual(
      computations.map((each) => each.handle),
      [handle],
    )
    await first.drain({ deadline: 1 })
    await first.stopped
  }
  await using second = await startServer({ jobs: [other], port: 0, store })
  const listed = await heddle(second.url, '--state', 'waiting')
  assert.equal(listed.code, 0, listed.stderr)
  assert.match(listed.stdout, new RegExp(`^waiting +${handle} +endless .*no server has "endless"`))
  assert.match((await heddle(second.url, '--state', 'making')).stdout, /^None\./)
  // The job is still missing: it waits.
  const retried = await heddle(second.url, 'retry', handle)
  assert.equal(retried.code, 2)
  assert.match(retried.stderr, /endless/)
  assert.equal((await heddle(second.url, 'cancel', handle)).code, 0)
  assert.match((await heddle(second.url)).stdout, /^Nothing is computed now/)
  const unknown = await heddle(second.url, 'cancel', 'nothing')
  assert.equal(unknown.code, 2)
})

test('retry and cancel ask the server for the handle', async (t) => {
  const asked: string[] = []
  const fake = createServer((request, response) => {
    asked.push(`${request.method} ${request.url}`)
    const isRetry = request.method === 'POST'
    response.writeHead(isRetry ? 202 : 200, { 'content-type': 'application/json' })
    const state = isRetry ? 'retried' : 'cancelled'
    response.end(JSON.stringify({ handle: 'a~b', state }))
  }).listen(0, '127.0.0.1')
  await once(fake, 'listening')
  t.after(() => fake.close())
  const url = `http://127.0.0.1:${(fake.address() as AddressInfo).port}`
  const retried = await heddle(url, 'retry', 'a~b', '--json')
  assert.deepEqual(JSON.parse(retried.stdout), { ok: true, handle: 'a~b', state: 'retried' })
  assert.match((await heddle(url, 'cancel', 'a~b')).stdout, /^Cancelled a~b\./)
  assert.deepEqual(asked, ['POST /computations/a~b/retry', 'DELETE /computations/a~b'])
})
