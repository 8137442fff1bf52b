import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openStore, systemKernel } from '@heddle/core/lowlevel'
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

roleConformance(
  'results',
  [resultTable],
  [
    {
      title: 'T1, T2: what one server writes another reads, bytes and all',
      async run(store) {
        const one = new ResultTier({ tables: (await store.connect()).tables, clock })
        const two = new ResultTier({ tables: (await store.connect()).tables, clock })
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
        const tier = new ResultTier({ tables: (await store.connect()).tables, clock })
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
  ],
  testStores(),
)

test('a value that is too large is refused and changes nothing', async () => {
  await using store = await openStore('memory', { tables: [resultTable] })
  const tier = new ResultTier({ tables: store.tables, clock })
  const body = new Uint8Array(32 * 2 ** 20 + 1)
  await assert.rejects(tier.write('a', { ...entry(1, ''), body }), { code: 'HDL_VALUE_TOO_LARGE' })
  assert.equal(await tier.read('a'), undefined)
})
