import assert from 'node:assert/strict'
import { test } from 'node:test'
import { HeddleError } from '@heddle/core'
import {
  openArtifacts,
  openStore,
  systemKernel,
  write,
  type ArtifactStore,
  type Tables,
} from '@heddle/core/lowlevel'
import { roleConformance } from '@heddle/core/testing'
import { testStores } from '@heddle/test-servers'
import {
  ResultTier,
  resultBodyTable,
  resultTable,
  type ResultTierOptions,
} from '../../src/cluster/result-tier.ts'

const text = (value: string): Uint8Array<ArrayBuffer> => new TextEncoder().encode(value)
const entry = (version: number, body: string, parent?: { key: string; version: number }) => ({
  version,
  createdAt: 1,
  ttl: Infinity,
  parent,
  body: text(body),
})

const { clock } = systemKernel
/** Shared by all tests: each body has a different name. */
const artifacts = await openArtifacts('memory')

/** A body that is larger than a record, with unique content. */
const large = (seed: number, length = 200_000): Uint8Array<ArrayBuffer> =>
  Uint8Array.from({ length }, (_, index) => (index * seed) % 251)

const bodiesOf = async (tables: Tables): Promise<string[]> =>
  (await tables.list(resultBodyTable)).map(({ id }) => id)

const makeTier = (
  tables: Tables,
  server = 'one',
  more: Partial<ResultTierOptions> = {},
): ResultTier =>
  new ResultTier({ tables, artifacts, clock, server, checkOwner: () => undefined, ...more })

const tierOf = async (
  store: { connect(): Promise<{ readonly tables: Tables }> },
  server?: string,
) => makeTier((await store.connect()).tables, server)

roleConformance(
  'results',
  [resultTable, resultBodyTable],
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
        assert.equal(await tier.delete('a', 6), true)
        assert.equal(await tier.delete('a', 7), false)
        assert.equal(await tier.read('a/0'), undefined)
        await tier.write('c', entry(6, 'c'))
        await tier.clear()
        assert.equal(await tier.read('c'), undefined)
      },
    },
    {
      title:
        'R2: what a write has left whose answer was lost stays: another server may have answered for it',
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
        isLost = false
        // Two has taken the shard over, finds the result, and records that its job is done.
        assert.equal(new TextDecoder().decode((await two.read('a'))?.body), 'of one')
        assert.equal(await one.delete('a', 2, true), false)
        assert.equal(new TextDecoder().decode((await two.read('a'))?.body), 'of one')
        // A caller that deletes a result deletes it, whichever server wrote it.
        assert.equal(await two.delete('a', 3), true)
        assert.equal(await one.read('a'), undefined)
      },
    },
    {
      title: 'R3: a write that comes after that of another owner changes nothing',
      async run(store) {
        const { tables } = await store.connect()
        const two = await tierOf(store, 'two')
        // It is stopped between its last query and its statement.
        const one = makeTier(
          {
            ...bound(tables),
            async change(changes: Parameters<Tables['change']>[0]) {
              await two.write('a', entry(1, 'of two'))
              await two.write('a/0', entry(2, 'made of it', { key: 'a', version: 1 }))
              return tables.change(changes)
            },
          },
          'one',
        )
        await assert.rejects(one.write('a', entry(1, 'of one')), { code: 'HDL_STORE_FAILED' })
        assert.equal(new TextDecoder().decode((await two.read('a'))?.body), 'of two')
        assert.equal(new TextDecoder().decode((await two.read('a/0'))?.body), 'made of it')
      },
    },
    {
      title:
        'R4: a large body is kept apart, and goes when its record is replaced, deleted or cleared',
      async run(store) {
        const { tables } = await store.connect()
        const one = makeTier(tables)
        const two = await tierOf(store, 'two')
        async function* pieces(): AsyncGenerator<Uint8Array<ArrayBuffer>> {
          yield large(3, 65_536)
          yield large(5, 1)
          yield large(7)
        }
        await one.write('a', { ...entry(1, ''), body: pieces() })
        const whole = Buffer.concat([large(3, 65_536), large(5, 1), large(7)])
        assert.ok(whole.equals((await two.read('a'))!.body))
        const [first] = await bodiesOf(tables)
        await one.write('a', { ...entry(2, ''), body: large(11) })
        assert.ok(Buffer.from(large(11)).equals((await two.read('a'))!.body))
        assert.equal(await artifacts.find(first!, 'body'), undefined)
        await one.write('a/0', { ...entry(3, '', { key: 'a', version: 2 }), body: large(13) })
        assert.equal((await bodiesOf(tables)).length, 2)
        await two.delete('a', 4)
        assert.deepEqual(await bodiesOf(tables), [])
        await one.write('b', { ...entry(5, ''), body: large(17) })
        await one.clear()
        assert.deepEqual(await bodiesOf(tables), [])
        assert.equal(await two.read('b'), undefined)
      },
    },
    {
      title:
        'C11: a record that a server of the version before has written over a large one has its own body',
      async run(store) {
        const { tables } = await store.connect()
        const tier = makeTier(tables)
        await tier.write('a', { ...entry(1, ''), body: large(3) })
        const [found] = await tables.byIds(resultTable, ['a'])
        // It does not know the column of large bodies, and leaves it as it is.
        const { revision: _, ...kept } = found!
        const record = { ...kept, version: 2, writer: 'older', body: text('small') }
        await tables.change([write(resultTable, record)])
        assert.equal(new TextDecoder().decode((await tier.read('a'))?.body), 'small')
      },
    },
    {
      title:
        'R2, R4: a large body stays when the answer to its record was lost, and goes when that was refused',
      async run(store) {
        const { tables } = await store.connect()
        let isLost = false
        const lossy = {
          ...bound(tables),
          async change(changes: Parameters<Tables['change']>[0]) {
            const refused = await tables.change(changes)
            if (isLost && changes.some(({ table }) => table === resultTable.name)) throw failed()
            return refused
          },
        }
        const lost = new HeddleError('HDL_NOT_OWNER', { shard: 1, retryAfter: 1 })
        const late = makeTier(tables, 'late', {
          checkOwner: () => {
            throw lost
          },
        })
        await assert.rejects(late.write('a', { ...entry(1, ''), body: large(3) }), lost)
        assert.deepEqual(await bodiesOf(tables), [])
        isLost = true
        const one = makeTier(lossy)
        await assert.rejects(one.write('a', { ...entry(1, ''), body: large(5) }), {
          code: 'HDL_STORE_FAILED',
        })
        const two = await tierOf(store, 'two')
        assert.ok(Buffer.from(large(5)).equals((await two.read('a'))!.body))
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

const openTables = () => openStore('memory', { tables: [resultTable, resultBodyTable] })

test('R1: a server that has lost the shard of a handle writes none of its results', async () => {
  await using store = await openTables()
  const lost = new HeddleError('HDL_NOT_OWNER', { shard: 1, retryAfter: 1 })
  const tier = makeTier(store.tables, 'one', {
    checkOwner: () => {
      throw lost
    },
  })
  await assert.rejects(tier.write('a/0', entry(1, 'late')), lost)
  assert.equal(await tier.read('a/0'), undefined)
})

test('a value that is too large is refused and changes nothing', async () => {
  await using store = await openTables()
  const tier = makeTier(store.tables, 'one', { largest: 100_000 })
  const body = large(3, 100_001)
  await assert.rejects(tier.write('a', { ...entry(1, ''), body }), { code: 'HDL_VALUE_TOO_LARGE' })
  async function* pieces(): AsyncGenerator<Uint8Array<ArrayBuffer>> {
    yield large(3, 70_000)
    yield large(3, 30_001)
  }
  await assert.rejects(tier.write('a', { ...entry(1, ''), body: pieces() }), {
    code: 'HDL_VALUE_TOO_LARGE',
  })
  assert.equal(await tier.read('a'), undefined)
  assert.deepEqual(await bodiesOf(store.tables), [])
})

test('R4: bodies that a process has left without a record go when they are old', async () => {
  await using store = await openTables()
  const { tables } = store
  const tier = makeTier(tables)
  await artifacts.put('result:gone:1', 'body', 'left by a process that died')
  await tables.change([write(resultBodyTable, { id: 'result:gone:1', createdAt: 1 })])
  const fresh = { ...entry(1, ''), createdAt: clock.wallTime() }
  await tier.write('a', { ...fresh, body: large(3) })
  assert.equal((await bodiesOf(tables)).length, 1)
  assert.equal(await artifacts.find('result:gone:1', 'body'), undefined)
  assert.ok(Buffer.from(large(3)).equals((await tier.read('a'))!.body))
})

test('R4: a body that is replaced during a read is read again; one that is gone is a miss', async () => {
  await using store = await openTables()
  const { tables } = store
  const tier = makeTier(tables)
  await tier.write('a', { ...entry(1, ''), body: large(3) })
  const reader = makeTier(tables, 'two', {
    artifacts: {
      ...boundArtifacts(),
      async open(run, name) {
        await tier.write('a', entry(2, 'small'))
        return artifacts.open(run, name)
      },
    },
  })
  assert.equal(new TextDecoder().decode((await reader.read('a'))?.body), 'small')
  await tier.write('b', { ...entry(3, ''), body: large(5) })
  for (const id of await bodiesOf(tables)) await artifacts.remove(id)
  assert.equal(await tier.read('b'), undefined)
  assert.equal(tier.stats().evicted.damaged, 1)
})

function boundArtifacts(): ArtifactStore {
  return {
    put: (...given) => artifacts.put(...given),
    received: (...given) => artifacts.received(...given),
    find: (...given) => artifacts.find(...given),
    open: (...given) => artifacts.open(...given),
    list: (...given) => artifacts.list(...given),
    remove: (...given) => artifacts.remove(...given),
    sizes: () => artifacts.sizes(),
    [Symbol.asyncDispose]: async () => undefined,
  }
}
