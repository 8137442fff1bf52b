import assert from 'node:assert/strict'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer, type AddressInfo } from 'node:net'
import { once } from 'node:events'
import path from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { Program, runProgram } from '../support/program.ts'
import { Stage } from '../support/stage.ts'
import { fixture, serve, Served } from './kit.ts'

test('--json: one object per line, the jobs answer, their output goes to stderr', async () => {
  await using stage = await Stage.open()
  using served = await Served.start(stage)
  const reply = await served.post('/jobs/square?wait=60000', 12)
  assert.deepEqual([reply.status, reply.body['result']], [200, 144])
  served.kill('SIGTERM')
  assert.equal(await served.program.ended(), 0)
  const [listening, ...others] = served.program.objects
  assert.deepEqual(
    [listening!['type'], listening!['jobs'], listening!['store']],
    ['listening', ['book', 'square', 'staged', 'stray'], 'sqlite:.heddle/serve.db'],
  )
  const types = others.map(({ type }) => type)
  assert.deepEqual(types, ['log', 'log', 'draining', 'stopped'])
  assert.match(String(others[1]!['text']), /^square-\w+: squaring 12$/)
  assert.equal(others.at(-1)!['ok'], true)
  assert.match(served.program.stderr, /printed by the job: 12/)
  assert.ok(existsSync(path.join(stage.folder, '.heddle/.gitignore')))
})

test('resources come from the options of the module; without them the server does not start', async () => {
  await using stage = await Stage.open()
  const args = [
    'serve',
    '--jobs',
    fixture('needing.ts'),
    '--port',
    '0',
    '--store',
    'memory',
    '--json',
  ]
  using program = new Program(args, { cwd: stage.folder, env: stage.env })
  const [, url] = await program.printed(/"type":"listening","url":"([^"]+)"/)
  const { status, body } = await new Served(program, url!).post('/jobs/call?wait=60000', 1)
  assert.deepEqual([status, body['result']], [200, 2])
  program.process.kill('SIGTERM')
  assert.equal(await program.ended(), 0)
  const env = { ...stage.env, HEDDLE_TEST_RESOURCES: 'none' }
  const refused = await runProgram(args, { cwd: stage.folder, env })
  assert.equal(refused.code, 2)
  assert.match(refused.stderr, /"needs\.api of job call"/)
})

test('for people: a line with the address and the jobs, and one with the dashboard', async () => {
  await using stage = await Stage.open()
  const args = ['serve', '--jobs', fixture('served.ts'), '--port', '0', '--store', 'memory']
  using program = new Program(args, { cwd: stage.folder, env: stage.env })
  const [line, url] = await program.printed(
    /^\d\d:\d\d:\d\d serving +4 jobs on (http:\S+): book, square, staged, stray; store memory$/m,
  )
  const [dashboard] = await program.printed(/^\d\d:\d\d:\d\d dashboard (http:\S+)\/ui\/$/m)
  const [open] = await program.printed(/^.*There are no users: everyone on this machine.*$/m)
  assert.deepEqual(program.lines, [line, dashboard, open])
  assert.equal((await fetch(`${url}/ui/`)).status, 200)
  assert.equal((await fetch(`${url}/healthz`)).status, 200)
  program.process.kill('SIGINT')
  assert.equal(await program.ended(), 0)
  assert.match(program.stdout, /draining +\(SIGINT\): nothing is under way; at most 10 s/)
  assert.match(program.stdout, /stopped +everything that was admitted has ended/)
  assert.equal(program.stderr, '')
  assert.equal(existsSync(path.join(stage.folder, '.heddle')), false)
})

test('the first line names graphs and schedules too, and nothing that there is none of', async () => {
  await using stage = await Stage.open()
  const args = ['serve', '--jobs', fixture('graphs-only.ts'), '--port', '0', '--store', 'memory']
  using program = new Program(args, { cwd: stage.folder, env: stage.env })
  await program.printed(
    /serving +1 graph on http:\S+: report; 2 schedules: nightly, weekly; store memory$/m,
  )
  program.process.kill('SIGTERM')
  assert.equal(await program.ended(), 0)
  using forPrograms = new Program([...args, '--json'], { cwd: stage.folder, env: stage.env })
  await forPrograms.printed(/"jobs":\[\],"graphs":\["report"\],"schedules":\["nightly","weekly"\]/)
  forPrograms.process.kill('SIGTERM')
  assert.equal(await forPrograms.ended(), 0)
})

test('an address that other machines can reach is refused without users, with the command that adds one', async () => {
  await using stage = await Stage.open()
  const args = ['serve', '--jobs', fixture('served.ts'), '--port', '0', '--host', '0.0.0.0']
  using program = new Program(args, { cwd: stage.folder, env: stage.env })
  assert.equal(await program.ended(), 2)
  assert.match(program.stderr, /neither users nor tokens/)
  assert.match(program.stderr, /heddle users add NAME --role admin/)
})

test('V2 a store that cannot be written any more: warned of, and it never ends with 0', async () => {
  await using stage = await Stage.open()
  const args = ['serve', '--jobs', fixture('served.ts'), '--port', '0']
  using program = new Program(args, { cwd: stage.folder, env: stage.env })
  const [, url] = await program.printed(/serving +\d+ jobs on (http:\S+): /)
  using database = new DatabaseSync(path.join(stage.folder, '.heddle/serve.db'), {
    timeout: 10_000,
  })
  database.exec(
    `CREATE TRIGGER broken BEFORE INSERT ON store_job
     BEGIN SELECT RAISE(ABORT, 'the disk is full, says a test'); END`,
  )
  database.close()
  const { status } = await new Served(program, url!).post('/jobs/square', 12)
  assert.equal(status, 503)
  await program.printed(/warning +The store cannot be written: nothing is acknowledged any more/)
  program.process.kill('SIGTERM')
  assert.equal(await program.ended(), 1)
  assert.match(program.stdout, /stopped +the store could not be written; acknowledged jobs may/)
})

test('S136 a second server on one store is refused, with the holder', async () => {
  await using stage = await Stage.open()
  using first = await Served.start(stage)
  using second = serve(stage)
  assert.equal(await second.ended(), 2)
  const { pid } = first.program.process
  assert.match(second.stderr, new RegExp(`serve\\.db\\.server\\.lock is held by .*\\b${pid}\\b`))
  assert.match(second.stderr, /--store postgres:\/\/HOST\/DATABASE/)
  const last = second.objects.at(-1)!
  assert.deepEqual([last['ok'], last['type']], [false, 'stopped'])
  assert.equal((last['error'] as { code: string }).code, 'HDL_LOCKED')
  assert.equal((await first.get('/healthz')).status, 200)
})

test('a port that another program has', async () => {
  await using stage = await Stage.open()
  const other = createServer().listen(0, '127.0.0.1')
  await once(other, 'listening')
  const { port } = other.address() as AddressInfo
  using program = serve(stage, '--port', String(port))
  assert.equal(await program.ended(), 2)
  assert.match(program.stderr, new RegExp(`port ${port}: another program listens there`))
  other.close()
})

test('a module that cannot be served, a store that cannot be opened, wrong words', async () => {
  await using stage = await Stage.open()
  const { folder } = stage
  const run = (...args: string[]): Promise<Program & { readonly code: number | string }> =>
    runProgram(['serve', '--port', '0', ...args], { cwd: folder })
  const none = await run()
  assert.equal(none.code, 2)
  assert.match(none.stderr, /^heddle: jobs\.ts does not exist\.[^]*--jobs FILE/)
  writeFileSync(path.join(folder, 'package.json'), '{ "type": "module" }')
  writeFileSync(path.join(folder, 'empty.ts'), 'export const a = 1')
  const empty = await run('--jobs', 'empty.ts', '--store', 'memory')
  assert.equal(empty.code, 2)
  assert.match(
    empty.stderr,
    /nothing that can be served[^]*job\(…\), serveJob\(…\), graph or schedule/,
  )
  writeFileSync(path.join(folder, 'broken.ts'), "throw new Error('no model')")
  const broken = await run('--jobs', 'broken.ts', '--json')
  assert.equal(broken.code, 2)
  assert.match(broken.stderr, /broken\.ts could not be imported: no model \(broken\.ts:1:7\)/)
  assert.equal(broken.objects.at(-1)!['ok'], false)
  writeFileSync(path.join(folder, 'exits.ts'), 'process.exit(0)')
  assert.match((await run('--jobs', 'exits.ts')).stderr, /it ended the process/)
  writeFileSync(path.join(folder, 'never.ts'), 'await new Promise(() => {})')
  const never = await run('--jobs', 'never.ts')
  assert.equal(never.code, 2)
  assert.match(
    never.stderr,
    /never\.ts could not be loaded: its top level waits, and nothing is left on/,
  )
  mkdirSync(path.join(folder, 'a.db'))
  const store = await run('--jobs', fixture('served.ts'), '--store', 'sqlite:a.db')
  assert.deepEqual([store.code, store.stderr === ''], [2, false])
  for (const words of [
    ['--store', 'redis://x'],
    ['--port', '70000'],
    ['--threads', '0'],
    ['--drain-deadline', 'soon'],
    ['--prot', '1'],
  ]) {
    const { code, stderr } = await run(...words)
    assert.equal(code, 2, words.join(' '))
    assert.match(stderr, /heddle serve --help/)
  }
})

test('--log writes one object for each refusal, and fields that --log-redact names are hidden', async () => {
  await using stage = await Stage.open()
  const log = path.join(stage.folder, 'logs', 'serve.log')
  using served = await Served.start(stage, '--log', log, '--log-redact', 'address', 'caller')
  assert.equal((await served.get('/nowhere')).status, 404)
  served.kill('SIGTERM')
  assert.equal(await served.program.ended(), 0)
  const lines = readFileSync(log, 'utf8').trimEnd().split('\n')
  const refused = lines
    .map((line) => JSON.parse(line) as Record<string, unknown>)
    .find(({ event }) => event === 'refused')!
  assert.deepEqual(
    [refused['status'], refused['code'], refused['address'], refused['level']],
    [404, 'not_found', '[redacted]', 'info'],
  )
})
