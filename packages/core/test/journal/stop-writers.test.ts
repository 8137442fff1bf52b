import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { test } from 'node:test'
import type { RunHeader } from '../../src/journal/journal.ts'
import { openJournal } from '../../src/journal/open-journal.ts'
import { stopWriters } from '../../src/journal/stop-writers.ts'
import { VirtualClock } from '../../src/kernel/virtual-clock.ts'
import { serviceConformance } from '../../src/testing/service-conformance.ts'

const header = {
  id: 'run',
  title: 'a run',
  startedAt: 1,
  pid: 1,
  host: 'here',
  command: 'test',
  options: {},
  nodes: [{ name: 'a', after: [], job: 'a', place: 'loop' }],
} satisfies RunHeader

serviceConformance('journal in memory', async () => {
  const service = await openJournal('memory')
  return { service, occupy: async () => void (await service.openRun(header)) }
})

serviceConformance('journal in a file', async () => {
  const folder = await mkdtemp(path.join(tmpdir(), 'heddle-journal-'))
  const service = await openJournal(`sqlite:${path.join(folder, 'runs.db')}`)
  return {
    service,
    occupy: async () => void (await service.openRun(header)),
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  }
})

test('V5: at the deadline stop() does not wait for a writer any more, and lets go of the store', async () => {
  const clock = new VirtualClock()
  const enough = new AbortController()
  const calls: string[] = []
  const hanging = { [Symbol.asyncDispose]: () => new Promise<void>(() => {}) }
  const stopped = stopWriters([hanging], clock, enough.signal, async () => {
    calls.push('released')
  })
  await clock.settle()
  assert.deepEqual(calls, [])
  enough.abort(new Error('enough'))
  await stopped
  assert.deepEqual([calls, clock.pending], [['released'], 0])
})

test('a writer that fails does not keep the others and the store from ending', async () => {
  const calls: string[] = []
  const failing = { [Symbol.asyncDispose]: () => Promise.reject(new Error('the disk is full')) }
  const late = {
    async [Symbol.asyncDispose]() {
      await Promise.resolve()
      calls.push('ended')
    },
  }
  const stopped = stopWriters(
    [failing, late],
    new VirtualClock(),
    new AbortController().signal,
    async () => {
      calls.push('released')
    },
  )
  await assert.rejects(stopped, /the disk is full/)
  assert.deepEqual(calls, ['ended', 'released'])
})
