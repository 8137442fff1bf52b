import assert from 'node:assert/strict'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import path from 'node:path'
import { test } from 'node:test'
import { HeddleError } from '@heddle/core'
import { openPeople, startServer } from '@heddle/server'
import { Program } from '../support/program.ts'
import { Stage } from '../support/stage.ts'
import * as jobs from './fixtures/jobs.ts'

const module = path.join(import.meta.dirname, 'fixtures/jobs.ts')

test('heddle work runs a fleet job of a server in its own process, and SIGTERM ends it with 0', async () => {
  await using server = await startServer({ jobs, port: 0 })
  await using stage = await Stage.open()
  const args = ['work', '--server', server.url, '--jobs', module, '--name', 'left', '--json']
  using worker = new Program(args, { cwd: stage.folder, env: stage.env })
  await worker.printed(/"type":"connected"/)
  const answer = await fetch(`${server.url}/jobs/square?wait=60000`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '12',
  })
  const { result } = (await answer.json()) as { readonly result: unknown }
  assert.equal(result, 144)
  await worker.printed(/"type":"started".*"job":"square"/)
  worker.process.kill('SIGTERM')
  assert.equal(await worker.ended(), 0)
  assert.match(worker.stdout, /"type":"ended","ok":true,"why":"stopped"/)
})

test('--exit-when-idle ends a worker without work with 0', async () => {
  await using server = await startServer({ jobs, port: 0 })
  await using stage = await Stage.open()
  const args = ['work', '--server', server.url, '--jobs', module, '--exit-when-idle', '--json']
  using worker = new Program(args, { cwd: stage.folder, env: stage.env })
  assert.equal(await worker.ended(), 0)
  assert.match(worker.stdout, /"why":"idle"/)
})

test('a wrong address and a missing module are refused with 2', async () => {
  await using stage = await Stage.open()
  const start = (...args: string[]): Program =>
    new Program(['work', ...args], { cwd: stage.folder, env: stage.env })
  using wrong = start('--server', 'host:4500')
  assert.equal(await wrong.ended(), 2)
  assert.match(wrong.stderr, /an address such as https:\/\/host:4500/)
  using missing = start('--server', 'http://127.0.0.1:9', '--jobs', 'none.ts')
  assert.equal(await missing.ended(), 2)
  assert.match(missing.stderr, /none\.ts/)
})

test('S142: a token that the server does not know ends the worker with 3', async () => {
  await using stage = await Stage.open()
  const store = `sqlite:${path.join(stage.folder, 'store.db')}`
  {
    await using opened = await openPeople(store)
    await opened.people.addToken({ name: 'rack', scopes: ['worker'], by: 'root' })
  }
  await using server = await startServer({ jobs, port: 0, store })
  const args = ['work', '--server', server.url, '--jobs', module, '--token', 'hdl_wrong', '--json']
  using worker = new Program(args, { cwd: stage.folder, env: stage.env })
  assert.equal(await worker.ended(), 3)
  assert.match(worker.stdout, /"why":"refused"/)
})

test('S142: a server that speaks no version of the protocol ends the worker with 4, and names the version to install', async () => {
  await using stage = await Stage.open()
  const refusal = new HeddleError('HDL_PROTOCOL_VERSION', { worker: '1', server: '7, 8' })
  const newer = http.createServer((request, response) => {
    request.resume()
    const error = { code: 'version', message: refusal.message, retryable: false }
    response.writeHead(426, { 'content-type': 'application/json' }).end(JSON.stringify({ error }))
  })
  await once(newer.listen(0, '127.0.0.1'), 'listening')
  try {
    const { port } = newer.address() as AddressInfo
    const server = `http://127.0.0.1:${port}`
    using worker = new Program(['work', '--server', server, '--jobs', module, '--json'], {
      cwd: stage.folder,
      env: stage.env,
    })
    assert.equal(await worker.ended(), 4)
    assert.match(worker.stdout, /"why":"version".*versions 1 of the fleet protocol.*7, 8/)
  } finally {
    newer.closeAllConnections()
    newer.close()
  }
})

test('a worker whose server is away reports that, and waits for it', async () => {
  await using stage = await Stage.open()
  const args = ['work', '--server', 'http://127.0.0.1:9', '--jobs', module, '--json']
  using worker = new Program(args, { cwd: stage.folder, env: stage.env })
  await worker.printed(/"type":"trouble".*fleet\/register: .*ECONNREFUSED.*; trying again/)
  worker.process.kill('SIGTERM')
  assert.equal(await worker.ended(), 0)
})

test('a token with a line break is refused with 2', async () => {
  await using stage = await Stage.open()
  const args = ['work', '--server', 'http://127.0.0.1:9', '--jobs', module]
  const env = { ...stage.env, HEDDLE_TOKEN: 'hdl_1\n' }
  using worker = new Program(args, { cwd: stage.folder, env })
  assert.equal(await worker.ended(), 2)
  assert.match(worker.stderr, /token/)
  assert.doesNotMatch(worker.stderr, /hdl_1/)
})

test('one worker at a time in a folder; settings come from heddle.worker.json', async () => {
  await using server = await startServer({ jobs, port: 0 })
  await using stage = await Stage.open()
  const settings = { server: server.url, jobs: module, name: 'from the file', concurrency: 1 }
  await writeFile(path.join(stage.folder, 'heddle.worker.json'), JSON.stringify(settings))
  const start = (...args: string[]): Program =>
    new Program(['work', '--json', ...args], { cwd: stage.folder, env: stage.env })
  using first = start()
  await first.printed(/"type":"connected"/)
  const summary = await (await fetch(`${server.url}/fleet/summary?workers=10`)).json()
  const { list } = summary as { list: readonly { readonly name: string }[] }
  assert.deepEqual(
    list.map(({ name }) => name),
    ['from the file'],
  )
  using second = start()
  assert.equal(await second.ended(), 2)
  assert.match(second.stderr, /worker\.lock/)
  assert.match(second.stderr, /start this one with --folder NAME/)
  using elsewhere = start('--folder', 'other', '--exit-when-idle', '--name', 'third')
  assert.equal(await elsewhere.ended(), 0)
  first.process.kill('SIGTERM')
  assert.equal(await first.ended(), 0)
})

test('without a server in flags and file the worker reports that and ends with 2', async () => {
  await using stage = await Stage.open()
  using worker = new Program(['work'], { cwd: stage.folder, env: stage.env })
  assert.equal(await worker.ended(), 2)
  assert.match(worker.stderr, /name the server/)
})
