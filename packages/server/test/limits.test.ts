import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isError, job } from '@heddle/core'
import { checkLimits } from '../src/limits.ts'
import { startServer } from '../src/server.ts'

const wrong: readonly [option: string, limits: object][] = [
  ...'prepareCapacity itemCapacity body loopBody cacheBytes head arrival sending bodies backlog'
    .split(' ')
    .flatMap((name) =>
      [NaN, -1, 0, 1.5, Infinity, '7', null].map(
        (value) => [name, { [name]: value }] as [string, object],
      ),
    ),
  ...['connections', 'connectionsPerAddress', 'loopGap'].flatMap((name) =>
    [NaN, -1, 0, 1.5, '7', null].map((value) => [name, { [name]: value }] as [string, object]),
  ),
  ...['queue', 'prepare', 'item', 'request', 'actionAge'].flatMap((name) =>
    [NaN, -1, 0, '7', null].map((value) => [name, { [name]: value }] as [string, object]),
  ),
  ['drain', { drain: -1 }],
  ['drain', { drain: NaN }],
  ['body', { body: 3 * 2 ** 20 }],
  ['threadMemory', { threadMemory: 2 ** 20 }],
  ['slots', { slots: 1 }],
  ['loop', { loop: 0 }],
  ['thread', { thread: NaN }],
  ['thread.permits', { thread: { permits: -1 } }],
  ['thread.reserved', { thread: { permits: 2, reserved: NaN } }],
  ['resources.api', { resources: { api: {} } }],
  ['resources.gpu', { resources: { gpu: 0 } }],
]

test('limits that make no sense are refused by their name', () => {
  for (const [option, limits] of wrong) {
    assert.throws(
      () => checkLimits(limits),
      (error) => isError(error, 'HDL_BAD_OPTION') && error.details.option === `limits.${option}`,
      `${option} ${JSON.stringify(limits)}`,
    )
  }
})

test('limits that make sense: none, no limit, stop at once', () => {
  for (const limits of [
    {},
    { queue: Infinity, prepare: Infinity, item: 0.5, request: 1, drain: Infinity },
    { drain: 0, body: 2 * 2 ** 20, loop: { permits: 2, reserved: 0 }, resources: { gpu: 1 } },
    { queue: undefined },
    { connections: Infinity, connectionsPerAddress: Infinity, head: 1, bodies: 1, backlog: 1 },
  ]) {
    checkLimits(limits)
  }
})

test('a server with such a limit does not start', async () => {
  const jobs = [job({ name: 'one' }, () => 1)]
  await assert.rejects(startServer({ jobs, port: 0, limits: { request: NaN } }), (error) =>
    isError(error, 'HDL_BAD_OPTION'),
  )
})
