/**
 * What Fastify does with `request.signal` of a POST. This fails when Fastify repairs it: then `clientGone()`
 * can follow its signal, and only the question to clients that close their half has to stay.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import Fastify, { type FastifyRequest } from 'fastify'
import { begin } from '../../support/client.ts'

async function signalOf(method: 'GET' | 'POST'): Promise<{ aborted: boolean; status: number }> {
  const app = Fastify()
  const { promise: arrived, resolve: arrive } =
    Promise.withResolvers<[FastifyRequest, AbortSignal]>()
  const { promise: answer, resolve: send } = Promise.withResolvers<object>()
  app.route({
    method,
    url: '/',
    handler: async (request) => {
      // Made on first use.
      arrive([request, request.signal])
      return answer
    },
  })
  await app.listen({ host: '127.0.0.1', port: 0 })
  const { address: host, port } = app.server.address() as AddressInfo
  const { reply } = begin({ host, port }, '/', method === 'POST' ? { body: {} } : {})
  const [request, signal] = await arrived
  // The client has sent everything and waits.
  if (method === 'POST' && !request.raw.closed) await once(request.raw, 'close')
  const { aborted } = signal
  send({ done: true })
  const { status } = await reply
  await app.close()
  return { aborted, status }
}

test('a GET that is waited for: the signal is quiet', async () => {
  assert.deepEqual(await signalOf('GET'), { aborted: false, status: 200 })
})

test('decision 8: the signal of a POST that is waited for has aborted, although the client is connected', async () => {
  assert.deepEqual(
    await signalOf('POST'),
    { aborted: true, status: 200 },
    'Fastify has repaired request.signal for POST: lifecycle/client-gone.ts can be smaller',
  )
})
