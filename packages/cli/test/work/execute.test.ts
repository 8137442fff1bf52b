import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { test } from 'node:test'
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

test('without a server in flags and file the worker says so, with 2', async () => {
  await using stage = await Stage.open()
  using worker = new Program(['work'], { cwd: stage.folder, env: stage.env })
  assert.equal(await worker.ended(), 2)
  assert.match(worker.stderr, /name the server/)
})
