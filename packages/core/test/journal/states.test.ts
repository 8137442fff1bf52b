import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'
import {
  checkNodeState,
  checkRunState,
  isEnd,
  nodeStateOf,
  runStateOf,
  storedNodeStates,
  storedRunStates,
} from '../../src/journal/states.ts'
import { nodeStates } from '../../src/scheduler/node.ts'

test('stored numbers never change: files outlive versions', () => {
  assert.deepEqual(storedNodeStates.slice(0, 9), [
    'waiting',
    'ready',
    'running',
    'retrying',
    'succeeded',
    'failed',
    'blocked',
    'skipped',
    'cancelled',
  ])
  assert.deepEqual(storedRunStates.slice(0, 6), [
    'idle',
    'running',
    'paused',
    'draining',
    'finished',
    'cancelled',
  ])
})

test('every state a node can be in has a number, and comes back', () => {
  for (const state of nodeStates) assert.equal(nodeStateOf(checkNodeState(state)), state)
  for (const state of storedRunStates) assert.equal(runStateOf(checkRunState(state)), state)
  assert.deepEqual(storedRunStates.filter(isEnd), ['finished', 'cancelled'])
})

test('S80 an unknown state is read as waiting, with a warning, once', async () => {
  const warned = once(process, 'warning')
  assert.equal(nodeStateOf(200), 'waiting')
  assert.equal(nodeStateOf(200), 'waiting')
  const [warning] = (await warned) as [Error & { code: string }]
  assert.equal(warning.code, 'HDL_UNKNOWN_STATE')
  assert.match(warning.message, /node state 200; it is read as waiting/)
  assert.equal(runStateOf(null), 'running')
})

test('an unknown state is refused with the list of known states', () => {
  assert.throws(() => checkNodeState('done' as never), {
    code: 'HDL_BAD_OPTION',
    message: /expected waiting, ready/,
  })
  assert.throws(() => checkRunState('done' as never), { code: 'HDL_BAD_OPTION' })
})
