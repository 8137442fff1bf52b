import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { test } from 'node:test'
import { until } from '../../../core/test/kernel/until.ts'
import { Stage } from '../support/stage.ts'
import { serve, Served, type Reply } from './kit.ts'

const skip = process.platform === 'win32' ? 'Windows has no signals of this kind' : false
const waiting = '/jobs/staged?wait=600000'

async function resultOf(reply: Promise<Reply>): Promise<unknown> {
  const { status, body } = await reply
  return [status, body['result']]
}

for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) {
  test(
    `S91, S93, S94 ${signal}: running and queued requests are answered, then it ends with 0`,
    { skip },
    async () => {
      await using stage = await Stage.open()
      // One runs, the other is queued: the second permit is for priority 0.
      using served = await Served.start(stage, '--threads', '1')
      const first = served.post(waiting, 'a')
      await stage.started('a')
      const second = served.post(waiting, 'b')
      await queued(served, 1)
      served.kill(signal)
      await served.program.printed(/"type":"draining".*"works":2,"waiting":2,"deadline":10000/)
      const ready = await served.get('/readyz')
      assert.deepEqual([ready.status, ready.body['draining']], [503, true])
      assert.equal((await served.get('/healthz')).status, 200)
      const refused = await served.post('/jobs/staged', 'c')
      assert.equal(refused.status, 503)
      assert.match(refused.headers.get('retry-after')!, /^[1-9]\d*$/)
      assert.equal((refused.body['error'] as { code: string }).code, 'shutting_down')
      await stage.finish('a')
      await stage.finish('b')
      assert.deepEqual(await resultOf(first), [200, 'a is done'])
      assert.deepEqual(await resultOf(second), [200, 'b is done'])
      assert.equal(await served.program.ended(), 0)
      assert.deepEqual(stage.starts, ['a', 'b'])
    },
  )
}

/** Asks until this many are queued. */
async function queued(served: Served, count: number): Promise<void> {
  await until(async () => {
    const { body } = await served.get('/healthz')
    const { prepare } = body['queues'] as { prepare: { queued: number } }
    return prepare.queued === count
  })
}

test(
  'S92, V1 at the deadline waiting clients get an answer, and it ends with 1',
  { skip },
  async () => {
    await using stage = await Stage.open()
    using served = await Served.start(stage, '--drain-deadline', '300')
    const waits = served.post(waiting, 'a')
    await stage.started('a')
    served.kill('SIGTERM')
    const { status, headers, body } = await waits
    assert.equal(status, 503)
    assert.match(headers.get('retry-after')!, /^[1-9]\d*$/)
    assert.equal((body['error'] as { code: string }).code, 'shutting_down')
    assert.equal(await served.program.ended(), 1)
    assert.equal(served.program.objects.at(-1)!['ok'], false)
  },
)

test(
  'S95 100 callers of queued work are all answered in JSON at the deadline',
  { skip },
  async () => {
    await using stage = await Stage.open()
    // One runs, the others wait for it: the second permit is for priority 0.
    using served = await Served.start(stage, '--threads', '1', '--drain-deadline', '300')
    const running = served.post(waiting, 'a')
    await stage.started('a')
    const callers = Array.from({ length: 100 }, (_, index) => served.post(waiting, `b${index % 5}`))
    await queued(served, 5)
    await until(async () => (await served.get('/healthz')).body['requests'] === 101)
    served.kill('SIGTERM')
    for (const { status, headers, body } of await Promise.all([running, ...callers])) {
      assert.equal(status, 503)
      assert.match(headers.get('retry-after')!, /^[1-9]\d*$/)
      assert.equal((body['error'] as { code: string }).code, 'shutting_down')
    }
    assert.equal(await served.program.ended(), 1)
    assert.deepEqual(stage.starts, ['a'])
  },
)

test(
  'S98 a request on a connection that was open before the drain: 503 in JSON, then closed',
  { skip },
  async () => {
    await using stage = await Stage.open()
    using served = await Served.start(stage, '--drain-deadline', 'Infinity')
    const { hostname, port } = new URL(served.url)
    const socket = connect(Number(port), hostname)
    await once(socket, 'connect')
    let received = ''
    socket.setEncoding('utf8').on('data', (text: string) => (received += text))
    const head = `POST /jobs/staged HTTP/1.1\r\nhost: ${hostname}:${port}\r\n`
    const submit = (input: string): void => {
      const body = JSON.stringify(input)
      const type = 'content-type: application/json'
      socket.write(`${head}${type}\r\ncontent-length: ${body.length}\r\n\r\n${body}`)
    }
    submit('a')
    await stage.started('a')
    while (!received.includes('"pending"')) await once(socket, 'data')
    received = ''
    served.kill('SIGTERM')
    await served.program.printed(/"type":"draining"/)
    submit('b')
    await once(socket, 'end')
    assert.match(received, /^HTTP\/1\.1 503 /)
    assert.match(received, /\r\nconnection: close\r\n/i)
    assert.match(received, /\r\nretry-after: [1-9]/i)
    assert.match(received, /"code":"shutting_down"/)
    await stage.finish('a')
    assert.equal(await served.program.ended(), 0)
  },
)

for (const [signal, code] of [
  ['SIGINT', 130],
  ['SIGTERM', 143],
] as const) {
  test(
    `S97, V1, V2 a second ${signal} stops at once with ${code}: waiters get an answer, the rest is in the store`,
    { skip },
    async () => {
      await using stage = await Stage.open()
      using served = await Served.start(stage, '--drain-deadline', 'Infinity')
      const waits = served.post(waiting, 'a')
      await stage.started('a')
      const acknowledged = await served.post('/jobs/staged?priority=0', 'b')
      await stage.started('b')
      served.kill('SIGTERM')
      await served.program.printed(/"type":"draining".*"deadline":null/)
      served.kill(signal)
      assert.equal((await waits).status, 503)
      assert.equal(await served.program.ended(), code)
      await stage.left('b')

      using again = await Served.start(stage)
      await stage.finish('b')
      const result = again.get(`/results/${String(acknowledged.body['handle'])}/0?wait=600000`)
      assert.deepEqual(await resultOf(result), [200, 'b is done'])
      assert.deepEqual(stage.starts, ['a', 'b', 'b'])
    },
  )
}

test('V3 a signal before it listens ends the process', { skip }, async () => {
  await using stage = await Stage.open()
  using program = serve(stage, '--jobs', new URL('fixtures/loads.ts', import.meta.url).pathname)
  await stage.started('loading')
  program.process.kill('SIGTERM')
  assert.equal(await program.ended(), 143)
  assert.deepEqual([program.stdout, program.stderr], ['', ''])
})

test('POST /drain ends it as a signal does', { skip }, async () => {
  await using stage = await Stage.open()
  using served = await Served.start(stage, '--store', 'memory')
  assert.equal((await served.post('/drain', {})).status, 202)
  assert.equal(await served.program.ended(), 0)
  assert.match(served.program.stdout, /"draining","by":"POST \/drain"/)
})

test(
  'V2 an uncaught error of a job: reported, waiting clients are answered, exit code 1',
  { skip },
  async () => {
    await using stage = await Stage.open()
    using served = await Served.start(stage)
    const acknowledged = await served.post('/jobs/staged', 'kept')
    await stage.started('kept')
    const { status } = await served.post('/jobs/stray?wait=600000&priority=0', null)
    assert.equal(status, 503)
    assert.equal(await served.program.ended(), 1)
    assert.match(
      served.program.stderr,
      /no job has caught ends the server: TypeError: nobody catches/,
    )
    await stage.left('kept')
    using again = await Served.start(stage)
    await stage.finish('kept')
    const result = again.get(`/results/${String(acknowledged.body['handle'])}/0?wait=600000`)
    assert.deepEqual(await resultOf(result), [200, 'kept is done'])
  },
)

test(
  'an acknowledged job whose error is not caught ends three servers, and is set aside by the fourth',
  { skip },
  async () => {
    await using stage = await Stage.open()
    let handle = ''
    for (let life = 0; life < 3; life++) {
      using served = await Served.start(stage)
      if (life === 0) handle = String((await served.post('/jobs/stray', 'culprit')).body['handle'])
      await stage.finish('culprit')
      assert.equal(await served.program.ended(), 1, `life ${life}`)
    }
    using served = await Served.start(stage)
    const { body } = await served.get('/computations')
    assert.deepEqual(
      (body['computations'] as Record<string, unknown>[]).map((each) => [
        each['handle'],
        each['state'],
      ]),
      [[handle, 'set_aside']],
    )
    assert.equal((await served.post('/jobs/square?wait=60000', 3)).body['result'], 9)
  },
)
