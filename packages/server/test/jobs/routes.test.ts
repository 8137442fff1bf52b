/** The list of served jobs, and the answers to submits. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { job, type InputSchema } from '@heddle/core'
import { serveJob, startServer, type ItemInput } from '../../src/index.ts'
import { call } from '../support/client.ts'
import { Gate } from '../support/gates.ts'
import { compute, fetchResult, quiet, submit } from '../support/http.ts'
import { doubles } from './fixtures/thread-jobs.ts'

test('the jobs are listed with their stages and their limits', async () => {
  const load = job({ name: 'load' }, (csv: string) => csv.split('\n'))
  const plot = job({ name: 'plot' }, ({ prepared, index }: ItemInput<string[]>) => prepared[-index])
  const two = serveJob({
    name: 'two',
    prepare: load,
    item: plot,
    total: (csv) => csv.split('\n').length,
    whenAbandoned: 'keep',
    limits: { item: 5_000 },
  })
  await using server = await startServer({ jobs: [two, doubles], port: 0 })
  const { status, body } = await call(server, '/jobs')
  assert.equal(status, 200)
  assert.deepEqual(body['jobs'], [
    {
      name: 'two',
      stages: [
        { job: 'load', place: 'loop' },
        { job: 'plot', place: 'loop' },
      ],
      limits: { item: 5_000 },
      when_abandoned: 'keep',
    },
    {
      name: 'doubles',
      stages: [{ job: 'doubles', place: 'thread' }],
      limits: {},
      when_abandoned: 'cancel',
    },
  ])
  const answer = await compute(server, 'two', 'a\nb\nc', { query: 'index=-2' }).reply
  assert.deepEqual([answer.body['total'], answer.body['result']], [3, 'c'])
  await quiet(server)
})

test('a job whose schema is also a JSON Schema is listed with it, other schemas are not listed', async () => {
  const schema = { type: 'object', properties: { days: { type: 'integer' } } }
  const takes = (input: () => Record<string, unknown>): InputSchema => ({
    '~standard': {
      version: 1,
      vendor: 'test',
      validate: (value) => ({ value }),
      jsonSchema: { input },
    },
  })
  const described = job({ name: 'described', input: takes(() => schema) }, () => 1)
  const unknown = job(
    {
      name: 'unknown',
      input: takes(() => {
        throw new Error('a transform has no JSON Schema')
      }),
    },
    () => 2,
  )
  await using server = await startServer({ jobs: [described, unknown], port: 0 })
  const { body } = await call(server, '/jobs')
  assert.deepEqual(
    (body['jobs'] as { name: string; input?: object }[]).map(({ name, input }) => [name, input]),
    [
      ['described', schema],
      ['unknown', undefined],
    ],
  )
})

test('202 names the address of the requested result', async () => {
  const load = new Gate('load')
  const plot = new Gate<ItemInput<unknown>>('plot')
  const two = serveJob({ name: 'two', prepare: load.job, item: plot.job, total: 3 })
  await using server = await startServer({ jobs: [two], port: 0 })
  const { status, headers, body } = await submit(server, 'two', 'csv', { query: 'index=-2' }).reply
  assert.equal(status, 202)
  const { handle, request, ...rest } = body
  assert.deepEqual(rest, { index: -2, total: 3, state: 'pending' })
  assert.equal(headers['location'], `/results/${String(handle)}/-2`)
  assert.match(String(handle), /^two-[0-9a-f]{64}$/)
  assert.match(String(request), /^[A-Za-z0-9_.:-]{1,128}$/)
  const asked = fetchResult(server, handle, -2, 'wait=60000')
  ;(await load.started()).finish('rows')
  for (let number = 1; number <= 3; number++) (await plot.started(number)).finish(number)
  assert.equal((await asked.reply).status, 200)
  await quiet(server)
})

test('ids that the server gives are never the same', async () => {
  const echo = job({ name: 'echo' }, (input: unknown) => input)
  await using server = await startServer({ jobs: [echo], port: 0 })
  const all = Array.from({ length: 20 }, () => submit(server, 'echo', 'same').reply)
  const ids = (await Promise.all(all)).map(({ body }) => body['request'])
  assert.equal(new Set(ids).size, 20)
  await quiet(server)
})
