import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { test } from 'node:test'
import { job } from '@heddle/core'
import { startServer } from '@heddle/server'

const square = job({ name: 'square' }, (value: number) => value * value)

test('serves the dashboard at /ui/, with its policy, and leads there from /', async (t) => {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'heddle-ui-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  mkdirSync(path.join(folder, 'assets'))
  writeFileSync(path.join(folder, 'index.html'), '<!doctype html><title>Heddle</title>')
  writeFileSync(path.join(folder, 'assets/main-12345678.js'), 'export {}')
  await using server = await startServer({ jobs: [square], port: 0, ui: folder })
  for (const from of ['/', '/ui']) {
    const response = await fetch(`${server.url}${from}`, { redirect: 'manual' })
    assert.deepEqual([response.status, response.headers.get('location')], [302, 'ui/'])
    await response.arrayBuffer()
  }
  const page = await fetch(`${server.url}/ui/`)
  assert.match(await page.text(), /<title>Heddle/)
  assert.match(page.headers.get('content-security-policy')!, /script-src 'self'/)
  const script = await fetch(`${server.url}/ui/assets/main-12345678.js`)
  assert.match(script.headers.get('content-type')!, /^text\/javascript/)
  assert.equal(await script.text(), 'export {}')
  const missing = await fetch(`${server.url}/ui/assets/..%2Findex.html`)
  assert.equal(missing.status, 404)
  assert.equal(((await missing.json()) as { error: { code: string } }).error.code, 'not_found')
})
