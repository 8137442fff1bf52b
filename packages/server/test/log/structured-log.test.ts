/** G1 to G4, over HTTP where it is about requests. */
import assert from 'node:assert/strict'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { test } from 'node:test'
import { job } from '@heddle/core'
import { systemKernel } from '@heddle/core/lowlevel'
import {
  startServer,
  type LogOptions,
  type Server,
  type ServerLimits,
  type ServerOptions,
} from '../../src/index.ts'
import { StructuredLog, withoutSecrets } from '../../src/log/structured-log.ts'
import { Wire, call } from '../support/client.ts'
import { Gate } from '../support/gates.ts'
import { cancel, compute, quiet, submit } from '../support/http.ts'
import { until } from '../../../core/test/kernel/until.ts'

type Line = Readonly<Record<string, unknown>>

/** A log in memory. */
class Lines {
  readonly all: Line[] = []
  texts = ''

  write(text: string): void {
    this.texts += text
    this.all.push(JSON.parse(text) as Line)
  }

  of(event: string): Line[] {
    return this.all.filter((line) => line['event'] === event)
  }
}

async function serve(
  jobs: readonly unknown[],
  lines: Lines,
  options: Partial<ServerOptions> & { readonly limits?: ServerLimits } = {},
  log: Partial<LogOptions> = {},
): Promise<Server> {
  return startServer({ jobs, port: 0, ...options, log: { to: lines, ...log } })
}

/** The fields that are the same in each run. */
function shown({ pid: _pid, time: _time, address: _address, ms: _ms, ...line }: Line): Line {
  return line
}

test('G1 a refusal at the door is one line with its route, code and Retry-After', async () => {
  const lines = new Lines()
  const gate = new Gate('work')
  await using server = await serve([gate.job], lines, { limits: { prepareCapacity: 1 } })
  const first = compute(server, 'work', 1)
  await gate.started()
  const refused = await submit(server, 'work', 2, { headers: { 'x-request-id': 'late' } }).reply
  assert.equal(refused.status, 503)
  gate.finishAll()
  await first.reply
  const [line, ...others] = lines.of('refused')
  assert.deepEqual(others, [])
  assert.deepEqual(shown(line!), {
    level: 'warn',
    event: 'refused',
    route: 'POST /jobs/:name',
    request: 'late',
    caller: 'anonymous',
    tenant: 'default',
    status: 503,
    code: 'overloaded',
    retry_after_ms: refused.body.error!.retry_after_ms,
    reason: refused.body.error!.message,
  })
  assert.match(String(line!['time']), /^\d{4}-\d\d-\d\dT[\d:.]+Z$/)
})

test('G1 G2 a request that is wrong is a line without the words of the client', async () => {
  const lines = new Lines()
  const echo = job({ name: 'echo' }, (text: string) => text)
  await using server = await serve([echo], lines)
  await call(server, '/jobs/secretjob', { body: 'card 4111' })
  await call(server, '/secretpath')
  await call(server, '/jobs/echo?priority=secretword&password=hunter2', { body: 'card 4111' })
  await call(server, '/jobs/echo', { method: 'POST', text: '{"card": 4111' })
  assert.deepEqual(
    lines.of('refused').map(({ status, code }) => [status, code]),
    [
      [404, 'unknown_job'],
      [404, 'not_found'],
      [400, 'bad_request'],
      [400, 'bad_request'],
    ],
  )
  assert.doesNotMatch(lines.texts, /secret|hunter2|4111/)
})

test('G1 bytes that are not a request are one line', async () => {
  const lines = new Lines()
  const echo = job({ name: 'echo' }, (text: string) => text)
  await using server = await serve([echo], lines)
  using wire = new Wire(server)
  await wire.send('NONSENSE\r\n\r\n')
  await wire.closed()
  assert.deepEqual(lines.of('refused').map(shown), [
    { level: 'info', event: 'refused', status: 400, code: 'bad_request' },
  ])
})

test('G1 a connection that finds no room is one line', async () => {
  const lines = new Lines()
  const gate = new Gate('work')
  await using server = await serve([gate.job], lines, { limits: { connectionsPerAddress: 1 } })
  const first = compute(server, 'work', 1)
  await gate.started()
  using wire = new Wire(server)
  await wire.closed()
  assert.deepEqual(lines.of('refused').map(shown), [
    { level: 'info', event: 'refused', code: 'connections_of_address' },
  ])
  gate.finishAll()
  await first.reply
})

test('G1 a cancel is one line of the request and one of the computation', async () => {
  const lines = new Lines()
  const gate = new Gate('work')
  await using server = await serve([gate.job], lines)
  const { reply } = compute(server, 'work', 1, { headers: { 'x-request-id': 'mine' } })
  const { context, fail } = await gate.started()
  context.signal.addEventListener('abort', () => fail(context.signal.reason))
  await cancel(server, 'mine')
  assert.equal((await reply).status, 499)
  await quiet(server)
  await until(() => lines.of('cancelled').length === 2)
  const found = lines.of('cancelled')
  const ofRequest = found.find(({ request }) => request === 'mine')!
  const ofWork = found.find(({ handle }) => handle !== undefined)!
  assert.deepEqual([ofRequest['status'], ofRequest['code']], [499, 'cancelled'])
  assert.deepEqual(
    [ofWork['job'], ofWork['stage'], ofWork['code']],
    ['work', 'prepare', 'HDL_CANCELLED'],
  )
})

test('G1 S62 a client that leaves is one broken pipe, and its computation one cancel', async () => {
  const lines = new Lines()
  const gate = new Gate('work')
  await using server = await serve([gate.job], lines)
  const { request } = compute(server, 'work', 1, { headers: { 'x-request-id': 'gone' } })
  const { context, fail } = await gate.started()
  context.signal.addEventListener('abort', () => fail(context.signal.reason))
  request.destroy()
  await until(() => lines.of('cancelled').length > 0 && lines.of('broken_pipe').length > 0)
  await quiet(server)
  assert.deepEqual(lines.of('broken_pipe').map(shown), [
    {
      level: 'info',
      event: 'broken_pipe',
      route: 'POST /jobs/:name',
      request: 'gone',
      caller: 'anonymous',
      tenant: 'default',
      status: 499,
    },
  ])
  assert.deepEqual(
    lines.of('cancelled').map(({ job: name, request: id }) => [name, id]),
    [['work', undefined]],
  )
})

test('G1 a timeout is a line that names its stage', async () => {
  const lines = new Lines()
  const gate = new Gate('work')
  await using server = await serve([gate.job], lines, { limits: { prepare: 20 } })
  const { reply } = compute(server, 'work', 1)
  const { context, fail } = await gate.started()
  context.signal.addEventListener('abort', () => fail(context.signal.reason))
  assert.equal((await reply).status, 504)
  await quiet(server)
  const found = lines.of('timeout').map(({ status, stage, job: name }) => [status, stage, name])
  assert.deepEqual(
    new Set(found.map((each) => JSON.stringify(each))),
    new Set([
      JSON.stringify([504, 'prepare', undefined]),
      JSON.stringify([undefined, 'prepare', 'work']),
    ]),
  )
  assert.equal(found.length, 2)
})

test('G1 every attempt that fails is a worker error, and the answer is one line', async () => {
  const lines = new Lines()
  const fails = job({ name: 'fails', retries: 1, retryBaseDelay: 1 }, () => {
    throw new Error('no disk at postgres://app:hunter2@db/app, token=abc123')
  })
  await using server = await serve([fails], lines)
  const { status, body } = await compute(server, 'fails', 1).reply
  assert.equal(status, 500)
  await quiet(server)
  const errors = lines.of('worker_error')
  assert.deepEqual(
    errors.map(({ job: name, stage, attempt, retry_in_ms }) => [
      name,
      stage,
      attempt,
      typeof retry_in_ms,
    ]),
    [
      ['fails', 'prepare', 0, 'number'],
      ['fails', 'prepare', undefined, 'undefined'],
    ],
  )
  const [answer, ...others] = lines.of('failed')
  assert.deepEqual(others, [])
  assert.equal(answer!['request'], (body.error as { reference?: string }).reference)
  assert.match(String(errors[0]!['reason']), /no disk at postgres:\/\/app@db/)
  assert.doesNotMatch(lines.texts, /hunter2|abc123/)
})

test('G2 fields that the operator names are replaced, and lines below the level are not written', async () => {
  const lines = new Lines()
  const fails = job({ name: 'fails' }, () => {
    throw new Error('patient 4711 has no bed')
  })
  const log = { level: 'warn', redact: ['reason', 'tenant'] } as const
  await using server = await serve([fails], lines, {}, log)
  await compute(server, 'fails', 1).reply
  await call(server, '/nowhere')
  await quiet(server)
  const [error] = lines.of('worker_error')
  assert.deepEqual([error!['reason'], error!['tenant']], ['[redacted]', '[redacted]'])
  assert.deepEqual(lines.of('refused'), [])
  assert.doesNotMatch(JSON.stringify([...lines.of('worker_error'), ...lines.of('failed')]), /4711/)
})

test('G2 passwords and tokens in texts, and texts that are too long', () => {
  assert.equal(
    withoutSecrets('Authorization: Bearer ab.cd-1 to https://me:pw@host/x?password=1'),
    'Authorization: [redacted] [redacted] to https://me@host/x?password=[redacted]',
  )
  assert.equal(withoutSecrets('{"password": "p w"}'), '{"password": "[redacted] w"}')
  const long = withoutSecrets(`${'x'.repeat(995)} token=abcdefgh ${'y'.repeat(100_000)}`)
  assert.ok(long.length <= 1_001)
  assert.doesNotMatch(long, /abc/)
})

test('G3 a file has all lines when the server has stopped, and a folder that is missing is made', async (t) => {
  const folder = await mkdtemp(path.join(tmpdir(), 'heddle-log-'))
  t.after(() => rm(folder, { recursive: true }))
  const file = path.join(folder, 'deep', 'serve.log')
  const echo = job({ name: 'echo' }, (text: string) => text)
  const server = await startServer({ jobs: [echo], port: 0, log: { to: file } })
  for (let n = 0; n < 20; n++) await call(server, '/nowhere')
  const { body } = await metricsOf(server)
  assert.match(body, /heddle_log_lines_total\{outcome="written"\} 20/)
  await server.drain()
  const written = (await readFile(file, 'utf8')).trimEnd().split('\n')
  assert.equal(written.filter((line) => line.includes('"event":"refused"')).length, 20)
})

test('G3 a log that is written faster than its file drops lines, counts them and says so', async (t) => {
  const folder = await mkdtemp(path.join(tmpdir(), 'heddle-log-'))
  t.after(() => rm(folder, { recursive: true }))
  const to = path.join(folder, 'serve.log')
  const log = await StructuredLog.open({ to }, systemKernel, () => undefined)
  const reason = 'x'.repeat(900)
  // In one step: nothing can be written in between.
  for (let n = 0; n < 12_000; n++) log.note({ event: 'worker_error', reason })
  const { dropped } = log.stats()
  assert.ok(dropped > 0, JSON.stringify(log.stats()))
  // There is room again when the buffer was written.
  await until(async () => (await readFile(to, 'utf8')).includes('"dropped":'))
  await log.stop()
  const lines = (await readFile(to, 'utf8')).trimEnd().split('\n')
  const told = lines
    .map((line) => (JSON.parse(line) as Line)['dropped'])
    .find((n) => n !== undefined)
  assert.equal(told, dropped)
})

test('G4 a log that cannot be written is said once, and ends nothing', async () => {
  const said: string[] = []
  const broken = {
    write() {
      throw new Error('no room')
    },
  }
  const log = await StructuredLog.open({ to: broken }, systemKernel, (text) => said.push(text))
  log.note({ event: 'refused' })
  log.note({ event: 'refused' })
  log.say('info', 'hello')
  assert.equal(log.stats().failed, 3)
  assert.deepEqual(said, ['The structured log cannot be written: no room'])
  await log.stop()
  await log.stop()
})

test('a log that cannot be opened, and options that mean nothing, are refused before the server listens', async () => {
  const echo = job({ name: 'echo' }, (text: string) => text)
  const wrong: readonly LogOptions[] = [
    { to: path.join(import.meta.filename, 'log') },
    { to: '' },
    { to: { write: () => undefined }, redact: ['a b'] },
    { to: { write: () => undefined }, level: 'loud' as 'info' },
  ]
  for (const log of wrong) {
    await assert.rejects(startServer({ jobs: [echo], port: 0, log }), { code: 'HDL_BAD_OPTION' })
  }
})

async function metricsOf(server: Server): Promise<{ readonly body: string }> {
  const response = await fetch(`${server.url}/metrics`)
  return { body: await response.text() }
}
