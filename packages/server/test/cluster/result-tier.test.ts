import assert from 'node:assert/strict'
import { test } from 'node:test'
import { HeddleError } from '@heddle/core'
import { openStore, systemKernel, type Tables } from '@heddle/core/lowlevel'
import { roleConformance } from '@heddle/core/testing'
import { testStores } from '@heddle/test-servers'
import { ResultTier, resultTable } from '../../src/cluster/result-tier.ts'

const text = (value: string): Uint8Array<ArrayBuffer> => new TextEncoder().encode(value)
const entry = (version: number, body: string, parent?: { key: string; version: number }) => ({
  version,
  createdAt: 1,
  ttl: Infinity,
  parent,
  body: text(body),
})

const { clock } = systemKernel

const makeTier = (tables: Tables, server = 'one', checkOwner = (): void => undefined): ResultTier =>
  new ResultTier({ tables, clock, server, checkOwner })

const tierOf = async (
  store: { connect(): Promise<{ readonly tables: Tables }> },
  server?: string,
) => makeTier((await store.connect()).tables, server)

roleConformance(
  'results',
  [resultTable],
  [
    {
      title: 'T1, T2: what one server writes another reads, bytes and all',
      async run(store) {
        const one = await tierOf(store)
        const two = await tierOf(store)
        assert.equal(await one.open(), 0)
        assert.equal(await one.write('a', entry(3, 'first')), false)
        assert.equal(await one.write('a', entry(4, 'second')), true)
        const read = await two.read('a')
        assert.deepEqual([read?.version, read?.ttl], [4, Infinity])
        assert.equal(new TextDecoder().decode(read?.body), 'second')
        assert.equal((await two.peek('a'))?.version, 4)
        assert.equal(await two.read('none'), undefined)
        assert.equal(await two.open(), 4)
        async function* pieces(): AsyncGenerator<Uint8Array<ArrayBuffer>> {
          yield text('in ')
          yield text('pieces')
        }
        await one.write('b', { ...entry(5, ''), body: pieces() })
        assert.equal(new TextDecoder().decode((await two.read('b'))?.body), 'in pieces')
      },
    },
    {
      title: 'T3: what was made from an entry goes when that is written again or deleted',
      async run(store) {
        const tier = await tierOf(store)
        await tier.write('a', entry(1, 'a'))
        const parent = { key: 'a', version: 1 }
        await tier.write('a/0', entry(2, '0', parent))
        await tier.write('a/1', entry(3, '1', parent))
        assert.deepEqual((await tier.read('a/0'))?.parent, parent)
        await tier.write('a', entry(4, 'b'))
        assert.equal(await tier.read('a/0'), undefined)
        await tier.write('a/0', entry(5, '0', { key: 'a', version: 4 }))
        assert.equal(await tier.delete('a'), true)
        assert.equal(await tier.delete('a'), false)
        assert.equal(await tier.read('a/0'), undefined)
        await tier.write('c', entry(6, 'c'))
        await tier.clear()
        assert.equal(await tier.read('c'), undefined)
      },
    },
    {
      title:
        'R2: the late delete of a write that failed leaves what another server has written since',
      async run(store) {
        const { tables } = await store.connect()
        let isLost = true
        // The database takes the write, and its answer is lost.
        const lossy = {
          ...bound(tables),
          async change(changes: Parameters<Tables['change']>[0]) {
            const refused = await tables.change(changes)
            if (isLost) throw failed()
            return refused
          },
        }
        const one = makeTier(lossy, 'one')
        const two = await tierOf(store, 'two')
        await assert.rejects(one.write('a', entry(1, 'of one')), { code: 'HDL_STORE_FAILED' })
        await assert.rejects(one.write('b', entry(2, 'of one')), { code: 'HDL_STORE_FAILED' })
        isLost = false
        await two.write('a', entry(3, 'of two'))
        assert.equal(await one.delete('a'), false)
        assert.equal(new TextDecoder().decode((await two.read('a'))?.body), 'of two')
        // What is still that of the failed write goes.
        assert.equal(await one.delete('b'), true)
        assert.equal(await two.read('b'), undefined)
        // A caller that deletes a result deletes it, whichever server wrote it.
        assert.equal(await one.delete('a'), true)
        assert.equal(await two.read('a'), undefined)
      },
    },
  ],
  testStores(),
)

const failed = (): HeddleError =>
  new HeddleError('HDL_STORE_FAILED', { store: 'It', action: 'be written', cause: 'test' })

function bound(tables: Tables): Tables {
  return {
    byIds: (...given) => tables.byIds(...given),
    ofShards: (...given) => tables.ofShards(...given),
    list: (...given) => tables.list(...given),
    change: (...given) => tables.change(...given),
    removeBelow: (...given) => tables.removeBelow(...given),
    now: () => tables.now(),
  }
}

test('R1: a server that has lost the shard of a handle writes none of its results', async () => {
  await using store = await openStore('memory', { tables: [resultTable] })
  const lost = new HeddleError('HDL_NOT_OWNER', { shard: 1, retryAfter: 1 })
  const tier = makeTier(store.tables, 'one', () => {
    throw lost
  })
  await assert.rejects(tier.write('a/0', entry(1, 'late')), lost)
  assert.equal(await tier.read('a/0'), undefined)
})

test('a value that is too large is refused and changes nothing', async () => {
  await using store = await openStore('memory', { tables: [resultTable] })
  const tier = makeTier(store.tables)
  const body = new Uint8Array(32 * 2 ** 20 + 1)
  await assert.rejects(tier.write('a', { ...entry(1, ''), body }), { code: 'HDL_VALUE_TOO_LARGE' })
  assert.equal(await tier.read('a'), undefined)
})
