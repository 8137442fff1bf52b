import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { test } from 'node:test'
import { job } from '@heddle/core'
import { startServer } from '../../src/index.ts'

test('every metric of the alert rules is one that a server reports', async () => {
  const file = path.resolve(import.meta.dirname, '../../../../docs/guide/alerts.yml')
  const rules = readFileSync(file, 'utf8')
  const named = new Set(
    [...rules.matchAll(/\bheddle_[a-z_]+/g)].map(([name]) => name.replace(/_bucket$/, '')),
  )
  assert.ok(named.size >= 8)
  await using server = await startServer({ jobs: [job({ name: 'one' }, () => 1)], port: 0 })
  const text = await (await fetch(`${server.url}/metrics`)).text()
  const reported = new Set([...text.matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name))
  for (const name of named) assert.ok(reported.has(name), name)
  assert.equal(rules.match(/- alert:/g)?.length, rules.match(/summary:/g)?.length)
})
