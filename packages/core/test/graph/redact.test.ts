import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Graph, job, run, type Redact } from '@heddle/core'
import { redactValue } from '@heddle/core/lowlevel'
import { redactError, textRedaction } from '../../src/graph/redact.ts'
import { sayLong, sayLongSecret } from './fixtures/long-progress-jobs.ts'
import { tellSecret } from './fixtures/redact-jobs.ts'

const card = '4111 1111 "gold"'
const input = { user: 'ada', pay: { card, codes: [987_654, 'x'] } }

test('values of the named input fields are replaced in texts, also in their JSON form', () => {
  const redact = textRedaction(['pay'], input)
  assert.equal(redact(`card ${card} of ada`), 'card [redacted] of ada')
  const written = '{"user":"ada","pay":{"card":"[redacted]","codes":[[redacted],"x"]}}'
  assert.equal(redact(JSON.stringify(input)), written)
  assert.equal(redact('too short to be looked for: x'), 'too short to be looked for: x')
  assert.equal(textRedaction(true, input)('anything'), '[redacted]')
})

test('an input that cannot be searched has all its texts redacted', () => {
  const many = Array.from({ length: 20_000 }, (_, index) => index)
  for (const large of [many, { token: new Map([['a', 'secret']]) }, { token: Buffer.from('hi') }]) {
    assert.equal(textRedaction(['token'], large)('secret'), '[redacted]')
  }
})

test('an error keeps its class, code and other fields; its message, stack and causes are redacted', () => {
  const cause = new RangeError(`no ${card}`)
  const listed = new AggregateError([new Error(card), card], 'several')
  const socket = { peer: card }
  const error = Object.assign(new TypeError(`card ${card} refused`, { cause }), {
    code: 'E_CARD',
    socket,
  })
  cause.cause = listed
  listed.cause = error
  const shown = redactError(error, textRedaction(['card'], input)) as typeof error
  assert.equal(shown, error)
  assert.equal(shown.message, 'card [redacted] refused')
  assert.equal(cause.message, 'no [redacted]')
  assert.equal(cause.cause, listed)
  assert.equal((listed.errors[0] as Error).message, '[redacted]')
  assert.equal(listed.errors[1], '[redacted]')
  assert.equal(shown.code, 'E_CARD')
  assert.deepEqual(shown.socket, { peer: card }, 'it may be in use')
  assert.doesNotMatch(`${shown.stack}${cause.stack}${listed.stack}`, /4111/)
  const redact = textRedaction(['card'], input)
  const frozen = redactError(Object.freeze(new Error(card)), redact) as Error
  assert.equal(frozen.message, '[redacted]')
  const strange = redactError(new Proxy(new Error(card), {}), redact) as Error
  assert.equal(strange.message, '[redacted]')
  assert.equal(redactError(`thrown ${card}`, redact), 'thrown [redacted]')
  const object = redactError({ message: card, toString: () => card }, redact) as Error
  assert.ok(object instanceof Error)
  assert.doesNotMatch(object.message, /4111/)
  assert.equal(redactError(7, redact), 7)
})

test('fields of a value that is shown are replaced at any depth; the value itself is not changed', () => {
  const value = { token: 'a', list: [{ token: 'b', id: 1 }], map: new Map([['token', 'c']]) }
  const before = structuredClone(value)
  assert.deepEqual(redactValue(value, ['token']), {
    token: '[redacted]',
    list: [{ token: '[redacted]', id: 1 }],
    map: new Map([['token', '[redacted]']]),
  })
  assert.deepEqual(value, before)
  assert.equal(redactValue(value, true), '[redacted]')
  assert.equal(redactValue(value, undefined), value)
})

test('log lines, progress and errors of a job are redacted on the loop and in a thread; dependents get the result', async () => {
  const onLoop = job(
    { name: 'tell on the loop', redact: ['card'], retries: 0 },
    ({ card: secret }: { card: string }, ctx) => {
      ctx.log(`paid with ${secret}`)
      ctx.progress(0.5, secret)
      throw new Error(`refused ${secret}`)
    },
  )
  const heard: unknown[] = []
  const graph = new Graph()
  graph.add('loop', onLoop, { input: { card } })
  const made = graph.add('thread', tellSecret, { input: { card } })
  graph.add(
    'after',
    job({ name: 'after' }, (given: { card: string }) => void heard.push(given)),
    { after: [made], input: (of) => of(made) },
  )
  const said: string[] = []
  const result = await run(graph, { observer: (event) => said.push(JSON.stringify(event)) })
  assert.equal((result.failed.get('loop') as Error).message, 'refused [redacted]')
  assert.equal(said.filter((line) => line.includes('paid with [redacted]')).length, 2)
  assert.doesNotMatch(said.join('\n'), /4111/)
  assert.deepEqual(heard, [{ card }])
})

test('a long progress text is cut after it was redacted, on the loop and in a thread', async () => {
  const document = 'secret '.repeat(30_000)
  const onLoop = job({ name: 'loop', redact: ['document'] }, (given: { document: string }, ctx) =>
    ctx.progress(0.5, `read ${given.document}`),
  )
  const graph = new Graph()
  graph.add('loop', onLoop, { input: { document } })
  graph.add('thread', sayLongSecret, { input: { document } })
  graph.add('long', sayLong, { input: 'x'.repeat(100_000) })
  const said = new Map<string, string | undefined>()
  await run(graph, {
    observer: (event) => event.type === 'progress' && said.set(event.name, event.text),
  })
  assert.deepEqual(Object.fromEntries(said), {
    loop: 'read [redacted]',
    thread: 'read [redacted]',
    long: `${'x'.repeat(999)}…`,
  })
})

test('an option that is neither true nor a list of field names is refused', () => {
  for (const redact of [false, 'card', [1], {}] as unknown as Redact[]) {
    assert.throws(() => job({ name: 'pay', redact }, () => 1), { code: 'HDL_BAD_OPTION' })
  }
})
