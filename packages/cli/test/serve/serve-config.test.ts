import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { test } from 'node:test'
import { parseLimit, readServeConfig } from '../../src/serve/serve-config.ts'
import { Program } from '../support/program.ts'
import { Stage } from '../support/stage.ts'
import { Served, fixture, serve } from './kit.ts'

test('the config file of a server is a module or JSON: each fault is reported, with what was expected', async (t) => {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'heddle-serve-config-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  let files = 0
  const read = async (extension: string, content: string): Promise<unknown> => {
    // A module is imported once.
    const file = path.join(folder, `config-${files++}.${extension}`)
    await writeFile(file, content)
    return readServeConfig(file)
  }
  const json = (content: string): Promise<unknown> => read('json', content)
  assert.deepEqual(await json('{ "inventory": "inventory.json", "port": 0 }'), {
    inventory: 'inventory.json',
    port: 0,
  })
  const typed = 'const queue: number = 10_000\nexport default { limits: { queue } }'
  assert.deepEqual(await read('ts', typed), { limits: { queue: 10_000 } })
  await assert.rejects(json('{ "inventry": "x" }'), /inventry.*did you mean.*inventory/i)
  await assert.rejects(json('{ "jobs": 5 }'), /Option "jobs" is 5/)
  await assert.rejects(json('[]'), /an object of settings/)
  await assert.rejects(json('{'), /expected JSON/)
  await assert.rejects(read('ts', 'export const port = 1'), /an object of settings as its default/)
  await assert.rejects(readServeConfig(path.join(folder, 'none.json')), /a file that can be read/)
  await assert.rejects(readServeConfig(path.join(folder, 'none.ts')), /does not exist/)
})

test('a limit of a flag is a number, a time or bytes', () => {
  const first = parseLimit('queue=10s', undefined)
  assert.deepEqual(parseLimit('body=2MiB', first), { queue: 10_000, body: 2_097_152 })
  assert.deepEqual(parseLimit('loopGap=Infinity', undefined), { loopGap: Infinity })
  assert.throws(() => parseLimit('queue', undefined), /NAME=VALUE/)
  assert.throws(() => parseLimit('queue=soon', undefined), /milliseconds/)
})

test('a resource flag is a number of permits or a rate, and adds to other flags', () => {
  const first = parseLimit('resources.license=4', { queue: 1 })
  assert.deepEqual(parseLimit('resources.api=20/1s', first), {
    queue: 1,
    resources: { license: 4, api: { limit: 20, per: 1_000 } },
  })
  for (const value of ['0', '1.5', 'many', '1/1s/2', '/1s']) {
    assert.throws(() => parseLimit(`resources.api=${value}`, undefined), /permits or a rate/)
  }
  assert.throws(() => parseLimit('resources.api=1/soon', undefined), /milliseconds/)
})

test('resources of --limit do not hide those of heddle.config.ts', async () => {
  await using stage = await Stage.open()
  const config = 'export default { store: "memory", limits: { resources: { api: 2 } } }'
  await writeFile(path.join(stage.folder, 'heddle.config.ts'), config)
  const words = ['serve', '--jobs', fixture('needing.ts'), '--port', '0', '--json']
  const env = { ...stage.env, HEDDLE_TEST_RESOURCES: 'none' }
  const args = [...words, '--limit', 'resources.license=4']
  using program = new Program(args, { cwd: stage.folder, env })
  const [, url] = await program.printed(/"type":"listening","url":"([^"]+)"/)
  const { status, body } = await new Served(program, url!).post('/jobs/call?wait=60000', 1)
  assert.deepEqual([status, body['result']], [200, 2])
  program.process.kill('SIGTERM')
  assert.equal(await program.ended(), 0)
})

test('heddle.config.ts holds limits of a server, --limit counts more, and a wrong one is named', async () => {
  await using stage = await Stage.open()
  const config = 'export default { store: "memory", limits: { prepareCapacity: 5, body: 100 } }'
  await writeFile(path.join(stage.folder, 'heddle.config.ts'), config)
  {
    using served = await Served.start(stage, '--limit', 'prepareCapacity=7', '--limit', 'item=90s')
    const { body } = await served.get('/healthz')
    const { prepare } = body['queues'] as { prepare: { capacity: number } }
    assert.equal(prepare.capacity, 7)
    assert.equal((await served.post('/jobs/staged', 'x'.repeat(200))).status, 413)
    served.kill('SIGTERM')
    assert.equal(await served.program.ended(), 0)
  }
  using refused = serve(stage, '--limit', 'prepareCapacty=7')
  assert.equal(await refused.ended(), 2)
  assert.match(refused.stderr, /limits\.prepareCapacty.*prepareCapacity/)
})

test('serve --inventory and heddle.config.json name the inventory; the command line takes precedence', async () => {
  await using stage = await Stage.open()
  const write = (name: string, content: object): Promise<void> =>
    writeFile(path.join(stage.folder, name), JSON.stringify(content))
  await write('one.json', { version: 1, matrix: [] })
  await write('heddle.config.json', { inventory: 'two.json', store: 'memory' })
  {
    using typed = await Served.start(stage, '--inventory', 'one.json')
    const { body } = await typed.get('/inventory')
    assert.deepEqual([body['file'], body['problem']], ['one.json', null])
    typed.kill('SIGTERM')
    assert.equal(await typed.program.ended(), 0)
  }
  {
    using named = await Served.start(stage)
    const { body } = await named.get('/inventory')
    assert.equal(body['file'], 'two.json')
    assert.match(String(body['problem']), /no such file/)
    named.kill('SIGTERM')
    assert.equal(await named.program.ended(), 0)
  }
  await write('heddle.config.json', { inventry: 'two.json' })
  using refused = serve(stage)
  assert.equal(await refused.ended(), 2)
  assert.match(refused.stderr, /inventry/)
})
