import assert from 'node:assert/strict'
import os from 'node:os'
import { test } from 'node:test'
import { Graph, job } from '@heddle/core'
import { schedule, startServer } from '@heddle/server'
import { runProgram } from '../support/program.ts'

const note = job({ name: 'note' }, () => 1)

function report(): Graph {
  const graph = new Graph()
  graph.add('note', note)
  return graph
}

test('schedules of a server are listed, made, paused, shown and deleted', async (t) => {
  const schedules = [schedule('nightly', '0 3 * * *', report)]
  const server = await startServer({ jobs: { note, graphs: { report }, schedules }, port: 0 })
  t.after(() => server[Symbol.asyncDispose]())
  const heddle = (...args: string[]) =>
    runProgram(['schedules', ...args, '--server', server.url], { cwd: os.tmpdir() })

  const listed = await heddle('list')
  assert.match(listed.stdout, /^exported:nightly +0 3 \* \* \* \(UTC\) +Next: \d{4}-.*T03:00:00Z\./)
  const add = ['add', 'weekly', '0 4 * * 1', '--graph', 'report', '--timezone', 'Europe/Berlin']
  const made = await heddle(...add, '--args', '{"days":7}', '--json')
  assert.equal(made.code, 0, made.stderr)
  const { ok, schedule: shown } = JSON.parse(made.stdout) as {
    ok: boolean
    schedule: Record<string, unknown>
  }
  assert.deepEqual([ok, shown['id'], shown['args']], [true, 'made:weekly', { days: 7 }])
  assert.match((await heddle('pause', 'made:weekly')).stdout, /Paused made:weekly/)
  assert.match(
    (await heddle('show', 'made:weekly')).stdout,
    /Paused\.\n +overlap skip, missed once/,
  )
  assert.match((await heddle('resume', 'made:weekly')).stdout, /Resumed made:weekly. Next: /)
  assert.match((await heddle('delete', 'made:weekly')).stdout, /Deleted made:weekly/)
  const wrong = await heddle('delete', 'exported:nightly')
  assert.deepEqual([wrong.code, /exported by the served module/.test(wrong.stderr)], [2, true])
  const refused = await heddle('add', 'x', '61 * * * *', '--graph', 'report', '--json')
  assert.equal(refused.code, 2)
  assert.equal((JSON.parse(refused.stdout) as { ok: boolean }).ok, false)
})

test('a server that is away is named', async () => {
  const args = ['schedules', '--server', 'http://127.0.0.1:9']
  const { code, stderr } = await runProgram(args, { cwd: os.tmpdir() })
  assert.equal(code, 2)
  assert.match(stderr, /^heddle: The server at http:\/\/127\.0\.0\.1:9 cannot be reached/)
})
