/** Shards that come and go: shards that this server hands over, and shards that it takes over. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { HeddleError } from '@heddle/core'
import type { AcknowledgedWork, LedgerEntry } from '../../src/jobs/ledger.ts'
import { StoreLedger } from '../../src/jobs/store-ledger.ts'
import { Bench } from '../support/bench.ts'
import { Gate } from '../support/gates.ts'
import { codeOf, told } from '../support/told.ts'

const lost = new HeddleError('HDL_OWNERSHIP_LOST', { shard: 1, epoch: 1 })
const { signal } = new AbortController()

/** An acknowledgement that another server has written. */
function acknowledgement(handle: string) {
  const ends: string[] = []
  const entry: LedgerEntry = {
    acknowledgementId: `${handle} 1`,
    write: () => undefined,
    putBack: () => ends.push('put back'),
    end: (how) => ends.push(how),
  }
  const was: AcknowledgedWork = {
    job: 'load',
    handle,
    input: 'a',
    priority: 1,
    version: '1',
    force: false,
  }
  return { was, entry, ends }
}

test('W1: a shard that is lost and acquired again before its work has ended: the work starts again', async () => {
  const load = new Gate('load')
  const bench = await Bench.open([load.job])
  const waits = told(bench.compute('load', 'a'))
  await bench.clock.settle()
  const handle = bench.handle('load', 'a')
  // The job ignores its signal: the first computation ends late.
  bench.service.handOver(handle, lost)
  const { was, entry, ends } = acknowledgement(handle)
  await bench.service.takeOver(was, entry, signal)
  await bench.clock.settle()
  assert.deepEqual(ends, [])
  assert.equal(load.starts.length, 2)
  load.starts[0]!.finish('late')
  await bench.clock.settle()
  assert.equal(codeOf(waits.error), 'HDL_OWNERSHIP_LOST')
  assert.deepEqual(ends, [])
  load.starts[1]!.finish('result')
  await bench.clock.settle()
  assert.deepEqual(ends, ['finished'])
  bench.assertNothingLeft()
})

test('W5: an acknowledgement that was taken over stands until the newer one of its handle is durable', async () => {
  const load = new Gate('load')
  const { promise: written, reject } = Promise.withResolvers<LedgerEntry>()
  class HeldLedger extends StoreLedger {
    override acknowledge(): Promise<LedgerEntry> {
      return written
    }
  }
  const bench = await Bench.open([load.job], {
    ledger: (options) => new HeldLedger(options),
  })
  const waits = told(bench.compute('load', 'a'))
  await bench.clock.settle()
  const newer = told(bench.acknowledge('load', 'a'))
  await bench.clock.settle()
  const { was, entry, ends } = acknowledgement(bench.handle('load', 'a'))
  const taken = bench.service.takeOver(was, entry, signal)
  await bench.clock.settle()
  assert.deepEqual(ends, [])
  reject(new HeddleError('HDL_STORE_FAILED', { store: 'It', action: 'be written', cause: 'test' }))
  await taken
  await bench.clock.settle()
  assert.equal(codeOf(newer.error), 'HDL_STORE_FAILED')
  assert.deepEqual(ends, [])
  load.finishAll()
  await bench.clock.settle()
  assert.equal(waits.state, 'fulfilled')
  assert.deepEqual(ends, ['finished'])
  bench.assertNothingLeft()
})
