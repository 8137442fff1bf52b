import assert from 'node:assert/strict'
import { test } from 'node:test'
import { formatDateTime } from '../../src/text/times.ts'
import { listNames, signalsOf, waitText } from '../../src/runs/waits.ts'

const until = Date.UTC(2026, 10, 21, 2, 33, 55)

test('a suspended job says which signal it waits for, and until when', () => {
  assert.equal(
    waitText({ waits: [{ path: 'wait:go#0', signal: 'go' }] }),
    'waits for the signal "go"',
  )
  assert.equal(
    waitText({ waits: [{ path: 'wait:go#0', signal: 'go', until }] }),
    `waits for the signal "go" until ${formatDateTime(until)}`,
  )
  assert.equal(
    waitText({
      waits: [
        { path: 'sleep#0', until: until + 1_000 },
        { path: 'sleep#1', until },
      ],
    }),
    `sleeps until ${formatDateTime(until)}`,
  )
  assert.equal(waitText({}), '')
})

test('the end of a sleep beside it is not the end of a wait for a signal', () => {
  const sleep = { path: 'sleep#0', until }
  assert.equal(
    waitText({ waits: [{ path: 'wait:go#0', signal: 'go' }, sleep] }),
    `waits for the signal "go", sleeps until ${formatDateTime(until)}`,
  )
  assert.equal(
    waitText({ waits: [sleep, { path: 'wait:go#0', signal: 'go', until: until + 60_000 }] }),
    `waits for the signal "go" until ${formatDateTime(until + 60_000)}, sleeps until ${formatDateTime(until)}`,
  )
})

test('a signal that many elements wait for is named once, and a long list is counted', () => {
  const waits = ['a', 'b', 'a', 'c', 'd', 'e', 'f'].map((signal) => ({ path: signal, signal }))
  assert.deepEqual(signalsOf([{ waits }, {}]), ['a', 'b', 'c', 'd', 'e', 'f'])
  assert.equal(listNames(signalsOf([{ waits }])), '"a", "b", "c", "d", "e" and 1 more')
})
