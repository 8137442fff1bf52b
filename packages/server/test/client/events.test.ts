import assert from 'node:assert/strict'
import { test } from 'node:test'
import { followEvents, readEvents, type ServerEvent } from '../../src/client/events.ts'

function stream(...chunks: string[]): Response {
  const encoder = new TextEncoder()
  return new Response(
    new ReadableStream({
      start(controller) {
        for (const chunk of chunks) controller.enqueue(encoder.encode(chunk))
        controller.close()
      },
    }),
    { headers: { 'content-type': 'text/event-stream' } },
  )
}

class Refused extends Error {
  readonly retryable: boolean
  readonly retryAfterMs = 7

  constructor(retryable: boolean) {
    super('refused')
    this.retryable = retryable
  }
}

test('events are read whatever pieces they come in, with comments and several lines', async () => {
  const text =
    ': hello\n\nid: 1\nevent: node\ndata: a\ndata: b\n\nretry: 50\ndata: ü\r\n\r\ndata: cut'
  for (const size of [1, 2, 3, 7, 1_000]) {
    const chunks = Array.from({ length: Math.ceil(text.length / size) }, (_, number) =>
      text.slice(number * size, (number + 1) * size),
    )
    assert.deepEqual(
      await Array.fromAsync(readEvents(stream(...chunks))),
      [
        { id: '1', event: 'node', data: 'a\nb' },
        { retry: 50 },
        { id: '1', event: 'message', data: 'ü' },
      ],
      `pieces of ${size}`,
    )
  }
})

test('E1 after a broken connection it asks from the last whole event on; an error that stays is thrown', async () => {
  const asked: (string | undefined)[] = []
  const pauses: number[] = []
  const answers = [
    () => stream('id: 1\ndata: a\n\nid: 2\ndata: b'),
    () => Promise.reject(new TypeError('fetch failed')),
    () => new Response('{}', { status: 503 }),
    () => stream('retry: 90\n\nid: 3\ndata: c\n\n'),
    () => new Response('{}', { status: 404 }),
  ]
  const seen: ServerEvent[] = []
  const states: string[] = []
  await assert.rejects(async () => {
    const events = followEvents(
      async (headers) => {
        asked.push(headers['last-event-id'])
        return answers.shift()!()
      },
      (response) => Promise.resolve(new Refused(response.status === 503)),
      { pause: async (ms) => void pauses.push(ms), onState: (state) => void states.push(state) },
    )
    for await (const event of events) seen.push(event)
  }, Refused)
  assert.deepEqual(
    seen.map(({ data }) => data),
    ['a', 'c'],
  )
  assert.deepEqual(asked, [undefined, '1', '1', '1', '3'])
  assert.deepEqual(pauses, [1_000, 2_000, 7, 90])
  assert.deepEqual(states, ['open', 'lost', 'lost', 'open', 'lost'])
})

test('the signal ends it without an error, also in a pause', async () => {
  const controller = new AbortController()
  const events = followEvents(
    () => Promise.resolve(stream('data: a\n\n')),
    () => Promise.resolve(new Refused(false)),
    { signal: controller.signal, pause: async () => controller.abort() },
  )
  assert.deepEqual(
    (await Array.fromAsync(events)).map(({ data }) => data),
    ['a'],
  )
})

test('a stream that is complete is not asked for again', async () => {
  const answers = [
    stream('id: 1\ndata: a\n\nevent: end\ndata: \n\n'),
    new Response(null, { status: 204 }),
  ]
  for (const answer of answers) {
    let asked = 0
    const events = followEvents(
      () => {
        asked++
        return Promise.resolve(answer)
      },
      () => Promise.resolve(new Refused(false)),
      {},
    )
    await Array.fromAsync(events)
    assert.equal(asked, 1)
  }
})
