import assert from 'node:assert/strict'
import { test } from 'node:test'
import { job } from '@heddle/core'
import { startServer } from '../../src/server.ts'

const login = job(
  { name: 'login', redact: ['password'] },
  (input: { user: string; password: string }, { log }) => {
    log(`${input.user} logs in with ${input.password}`)
    return input.user
  },
)

test('the run of a served job shows its input without the redacted fields', async () => {
  await using server = await startServer({ jobs: { login }, port: 0, store: 'memory' })
  const body = JSON.stringify({ user: 'ada', password: 'correct horse' })
  const headers = { 'content-type': 'application/json' }
  await fetch(`${server.url}/jobs/login`, { method: 'POST', headers, body })
  const read = async (path: string): Promise<string> => (await fetch(server.url + path)).text()
  let run: string | undefined
  while (run === undefined) {
    const { runs } = JSON.parse(await read('/runs')) as { runs: { id: string }[] }
    run = runs[0]?.id
  }
  for (const path of ['nodes/input', 'nodes/input/result', 'nodes/prepare', 'log', 'export/rows']) {
    const text = await read(`/runs/${run}/${path}`)
    assert.doesNotMatch(text, /correct horse/, path)
  }
  assert.match(await read(`/runs/${run}/nodes/input`), /"password":"\[redacted\]"/)
})
