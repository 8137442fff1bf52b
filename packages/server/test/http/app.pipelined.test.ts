/** Several requests on one connection that does not wait for answers: each gets its own, in order. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { job } from '@heddle/core'
import { startServer, type Server } from '../../src/index.ts'
import { Wire, head } from '../support/client.ts'
import { Gate } from '../support/gates.ts'
import { quiet } from '../support/http.ts'
import { until } from '../../../core/test/kernel/until.ts'

interface Answer {
  readonly status: number
  readonly headers: string
  readonly body: {
    readonly result?: unknown
    readonly error?: { readonly code: string; readonly retry_after_ms?: number }
  }
}

function submitOf(input: unknown): string {
  const text = JSON.stringify(input)
  return head('/jobs/work?wait=60000', text.length) + text
}

/** The complete answers in the received bytes. */
function answersIn(received: string): Answer[] {
  const answers: Answer[] = []
  for (let rest = received; ;) {
    const end = rest.indexOf('\r\n\r\n')
    if (end < 0) return answers
    const headers = rest.slice(0, end)
    const [, length = '0'] = /^content-length: (\d+)$/im.exec(headers) ?? []
    const body = rest.slice(end + 4, end + 4 + Number(length))
    if (body.length < Number(length)) return answers
    const status = Number(headers.split(' ')[1])
    if (status >= 200) answers.push({ status, headers, body: JSON.parse(body) as Answer['body'] })
    rest = rest.slice(end + 4 + Number(length))
  }
}

async function readAnswers(wire: Wire, count: number): Promise<Answer[]> {
  await until(() => wire.socket.destroyed || answersIn(wire.received).length >= count)
  return answersIn(wire.received)
}

/** Each answer is that of its request: the result of its input, or a refusal that says when to come back. */
function check(answers: readonly Answer[]): number {
  let results = 0
  for (const [n, { status, headers, body }] of answers.entries()) {
    if (status === 200) {
      assert.deepEqual(body.result, { input: n }, `answer ${n}`)
      results++
      continue
    }
    assert.deepEqual([status, body.error?.code], [503, 'overloaded'], `answer ${n}`)
    assert.match(headers, /^retry-after: \d+$/im, `answer ${n}`)
    assert.doesNotMatch(headers, /^connection: close$/im, `answer ${n}`)
  }
  return results
}

async function pipeline(
  server: Server,
  chunks: readonly string[],
  count: number,
): Promise<Answer[]> {
  using wire = new Wire(server)
  await wire.connected()
  for (const chunk of chunks) await wire.send(chunk)
  return await readAnswers(wire, count)
}

test('fifty submits in one write, in fifty, and cut anywhere: fifty answers in order', async () => {
  const work = job({ name: 'work' }, (input: unknown) => ({ input }))
  await using server = await startServer({ jobs: [work], port: 0 })
  const requests = Array.from({ length: 50 }, (_, n) => submitOf(n))
  const whole = requests.join('')
  const cut = Array.from({ length: Math.ceil(whole.length / 97) }, (_, n) =>
    whole.slice(97 * n, 97 * (n + 1)),
  )
  for (const chunks of [[whole], requests, cut]) {
    const answers = await pipeline(server, chunks, 50)
    assert.equal(answers.length, 50)
    assert.ok(check(answers) > 0)
    await quiet(server)
  }
})

test('answers keep the order of their requests when the first computation ends last', async () => {
  const gate = new Gate<number>('work')
  await using server = await startServer({ jobs: [gate.job], port: 0, limits: { loop: 3 } })
  using wire = new Wire(server)
  await wire.send([0, 1, 2].map((n) => submitOf(n)).join(''))
  const starts = [await gate.started(1), await gate.started(2), await gate.started(3)]
  for (const { finish, input } of starts.toReversed()) finish({ input })
  const answers = await readAnswers(wire, 3)
  assert.equal(answers.length, 3)
  assert.equal(check(answers), 3)
  await quiet(server)
})

test('a refused request between admitted ones is answered in its turn, and the connection stays', async () => {
  const gate = new Gate<number>('work')
  const limits = { loop: 8, prepareCapacity: 4 }
  await using server = await startServer({ jobs: [gate.job], port: 0, limits })
  using wire = new Wire(server)
  await wire.send(Array.from({ length: 8 }, (_, n) => submitOf(n)).join(''))
  const queueOf = (): { readonly running: number; readonly rejected: number } =>
    server.stats().prepare.queue
  await until(() => queueOf().running + queueOf().rejected === 8)
  const { running } = queueOf()
  for (const { finish, input } of gate.starts) finish({ input })
  const answers = await readAnswers(wire, 8)
  assert.equal(answers.length, 8)
  assert.equal(check(answers), running)
  await quiet(server)
})
