import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { test } from 'node:test'
import { readConfig } from '../../src/work/worker-config.ts'

async function read(text: string): Promise<object> {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'heddle-config-'))
  try {
    const file = path.join(folder, 'worker.json')
    await writeFile(file, text)
    return await readConfig(file)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

test('settings of a worker are read from a file', async () => {
  const settings = { server: 'http://host:4500', concurrency: 2, capabilities: ['gpu'] }
  assert.deepEqual(await read(JSON.stringify(settings)), settings)
})

test('an unknown setting is refused with its name; a token belongs in the environment', async () => {
  await assert.rejects(read('{ "sever": "x" }'), /sever.*one of server, jobs/)
  await assert.rejects(read('{ "concurrency": 0 }'), /concurrency.*at least 1/)
  await assert.rejects(read('{ "token": "hdl_x" }'), /HEDDLE_TOKEN/)
  await assert.rejects(read('[1]'), /a JSON object/)
  await assert.rejects(read('{'), /JSON/)
  await assert.rejects(readConfig('/nowhere/worker.json'), /a file that can be read/)
})

test('without a file there are no settings', async () => {
  assert.deepEqual(await readConfig(undefined), {})
})
