/** What roles rely on when they declare tables: T1 to T5 of store/tables.ts. */
import assert from 'node:assert/strict'
import { systemKernel } from '../kernel/kernel.ts'
import { seededRandom } from '../kernel/random.ts'
import { Committer } from '../store/committer.ts'
import type { Grant } from '../store/database.ts'
import type { StoreDatabase } from '../store/roles.ts'
import { shardCount } from '../store/shard-of.ts'
import {
  cursorOf,
  erase,
  put,
  remove,
  write,
  type AnyTable,
  type Cursor,
  type StoredRecord,
  type Table,
  type TableRow,
} from '../store/tables.ts'
import type { StoreCase } from './store-conformance.ts'

interface Sample extends StoredRecord {
  readonly name?: string
  readonly rank?: number
  readonly isOpen?: boolean
  readonly body?: Uint8Array
  readonly detail?: unknown
}

/** Owned: batches of a shard write it. */
const samples: Table<Sample> = {
  name: 'test_sample',
  columns: { name: 'text', rank: 'number', isOpen: 'boolean', body: 'bytes', detail: 'json' },
  indexes: [['isOpen', 'rank'], ['rank']],
}

interface Account extends StoredRecord {
  readonly name: string
  readonly tenant?: string
  readonly at?: number
}

/** Shared: any process changes it. */
const accounts: Table<Account> = {
  name: 'test_account',
  columns: { name: 'text', tenant: 'text', at: 'number' },
  indexes: [['at'], ['tenant', 'name']],
  unique: [['tenant', 'name']],
}

/** Shared, with a column of each type. */
const people: Table<Sample> = { ...samples, name: 'test_person' }

/** The table of samples as a later version has it: with one column more. */
const laterSamples: Table<Sample & { readonly colour?: string }> = {
  ...samples,
  columns: { ...samples.columns, colour: 'text' },
}

/** The tables that a store under test is opened with. */
export const caseTables: readonly AnyTable[] = [samples, accounts, people]

/** Milliseconds: longer than any test. */
const long = 600_000

async function ownerOf(database: StoreDatabase) {
  await database.renew('a', long)
  const grants = await database.acquire('a', shardCount)
  await database.openSession('a', 'a/1')
  let number = 0
  return {
    grants,
    commit: (grant: Grant, ...rows: TableRow[]) =>
      database.commit('a/1', ++number, [{ ...grant, rows }]),
    commitAll: (batches: readonly [Grant, readonly TableRow[]][]) =>
      database.commit(
        'a/1',
        ++number,
        batches.map(([grant, rows]) => ({ ...grant, rows })),
      ),
  }
}

const codeOf = (error: unknown): unknown => (error as { code?: unknown }).code

const ids = (records: readonly StoredRecord[]): string[] => records.map(({ id }) => id)

export const tableCases: readonly StoreCase[] = [
  {
    title:
      'D6, G7: of writes that are committed together only the one with a row that cannot be held fails',
    async run(store) {
      const [database, other] = [await store.connect(), await store.connect()]
      const { grants } = await ownerOf(database)
      const onRefused = (): void => assert.fail('no epoch is old')
      const committer = new Committer<TableRow>({
        server: 'a again',
        database,
        kernel: systemKernel,
        onRefused,
      })
      const poison = { id: 'poison', rank: 'high' as unknown as number }
      const records = ['a', 'b', 'poison', 'c', 'd'].map((id) =>
        id === 'poison' ? poison : { id, rank: 1 },
      )
      const undeclared: Table<Sample> = { ...samples, name: 'test_undeclared' }
      const outcomes = await Promise.allSettled([
        ...records.map((record, index) => committer.write(grants[index]!, [put(samples, record)])),
        committer.write(grants[0]!, [put(undeclared, { id: 'a' })]),
        committer.write(grants[1]!, [remove(samples, 'none')]),
      ])
      assert.deepEqual(
        outcomes.map((each) => (each.status === 'rejected' ? codeOf(each.reason) : 'written')),
        [
          'written',
          'written',
          'HDL_ROW_REFUSED',
          'written',
          'written',
          'HDL_BAD_OPTION',
          'written',
        ],
      )
      const read = await other.tables.byIds(samples, ['a', 'b', 'poison', 'c', 'd'])
      assert.deepEqual(
        read.map((record) => record?.id),
        ['a', 'b', undefined, 'c', 'd'],
      )
      assert.equal(
        committer.stats().unknown,
        0,
        'the database has said so: there is nothing to fence',
      )
      await committer.stop()
    },
  },
  {
    title:
      'T1: a record is read as it was put, in every type, and put again it is another revision',
    async run(store) {
      const [database, other] = [await store.connect(), await store.connect()]
      const { grants, commit } = await ownerOf(database)
      const whole: Sample = {
        id: 'whole \0 \ud800 ❄',
        name: '\x1a\0\udc00"\'\\',
        rank: -0.1,
        isOpen: false,
        body: Uint8Array.from({ length: 256 }, (_, byte) => byte),
        detail: { list: [1, null, 'a\0b', '\ud800'], 'a"b': { deep: true } },
      }
      const bare: Sample = { id: 'bare' }
      const body = new Uint8Array()
      const edge: Sample = {
        id: 'edge',
        name: '',
        rank: Infinity,
        isOpen: true,
        body,
        detail: null,
      }
      await commit(grants[0]!, put(samples, whole), put(samples, bare), put(samples, edge))
      const read = await other.tables.byIds(samples, ['bare', 'none', whole.id, 'edge'])
      assert.deepEqual(plain(read[0]), { id: 'bare', revision: 1 })
      assert.equal(read[1], undefined)
      assert.deepEqual(plain(read[2]), { ...whole, revision: 1 })
      assert.deepEqual(plain(read[3]), {
        id: 'edge',
        name: '',
        rank: Infinity,
        isOpen: true,
        body,
        revision: 1,
      })
      await commit(grants[0]!, put(samples, { id: 'edge', rank: 2 }))
      const [again] = await other.tables.byIds(samples, ['edge'])
      assert.deepEqual(plain(again), { id: 'edge', rank: 2, revision: 2 })
      assert.deepEqual(await other.tables.byIds(samples, []), [])
    },
  },
  {
    title: 'T1, T5: infinite numbers are kept and have their places in a list',
    async run(store) {
      const { tables } = await store.connect()
      const times = { a: Infinity, b: 0, c: -Infinity, d: Infinity, e: -Infinity }
      const records = Object.entries(times).map(([id, at]) => ({ id, name: id, at }))
      const changes = records.map((record) => write(accounts, record))
      assert.equal(await tables.change(changes), undefined)
      const read = await tables.list(accounts, { by: 'at' })
      assert.deepEqual(
        read.map(({ id, at }) => [id, at]),
        [
          ['c', -Infinity],
          ['e', -Infinity],
          ['b', 0],
          ['a', Infinity],
          ['d', Infinity],
        ],
      )
      const after = cursorOf(read[3]!, 'at')
      assert.deepEqual(ids(await tables.list(accounts, { by: 'at', after })), ['d'])
    },
  },
  {
    title: 'D6: NaN and values of another type are refused in a batch and in a change',
    async run(store) {
      const database = await store.connect()
      const { tables } = database
      const { grants } = await ownerOf(database)
      const bad: readonly Readonly<Record<string, unknown>>[] = [
        { rank: NaN },
        { rank: '7' },
        { name: 7 },
        { isOpen: 'yes' },
        { isOpen: 1 },
        { body: 'text' },
        { detail: 7n },
      ]
      for (const [index, values] of bad.entries()) {
        const refused = { code: 'HDL_ROW_REFUSED' }
        const shown = JSON.stringify(Object.keys(values))
        const rows = [put(samples, { id: `a${index}` }), put(samples, { id: 'bad', ...values })]
        const commit = database.commit('a/1', 1, [{ ...grants[0]!, rows }])
        await assert.rejects(commit, refused, `put ${shown}`)
        const changes = [
          write(people, { id: `b${index}` }),
          write(people, { id: 'bad', ...values }),
        ]
        await assert.rejects(tables.change(changes), refused, `change ${shown}`)
      }
      assert.deepEqual(await tables.list(samples), [])
      assert.deepEqual(await tables.list(people), [])
    },
  },
  {
    title: 'T1: a value of type json is what JSON.stringify() makes of it, or is refused',
    async run(store) {
      const database = await store.connect()
      const { tables } = database
      const { grants, commit } = await ownerOf(database)
      const detail = {
        at: new Date(0),
        own: { toJSON: () => 'said so' },
        call: () => 1,
        map: new Map([[1, 2]]),
        zero: -0,
        none: NaN,
        text: '\0 \ud800',
      }
      const stored = JSON.parse(JSON.stringify(detail)) as unknown
      await commit(grants[0]!, put(samples, { id: 'a', detail }))
      assert.equal(await tables.change([write(people, { id: 'a', detail })]), undefined)
      for (const table of [samples, people]) {
        const [found] = await tables.byIds(table, ['a'])
        assert.deepEqual(found?.detail, stored)
      }
      const cycle: Record<string, unknown> = {}
      cycle['self'] = cycle
      const refused = { code: 'HDL_ROW_REFUSED' }
      for (const bad of [cycle, 1n, () => 1]) {
        const record = { id: 'b', detail: bad }
        const rows = [put(samples, record)]
        const batch = { ...grants[0]!, rows }
        await assert.rejects(database.commit('a/1', 2, [batch]), refused)
        await assert.rejects(tables.change([write(people, record)]), refused)
      }
      for (const table of [samples, people]) assert.equal((await tables.list(table)).length, 1)
    },
  },
  {
    title: 'D6: a change with a text that is too long for an index is refused, or it is held',
    async run(store) {
      const { tables } = await store.connect()
      // Text that no database compresses.
      const random = seededRandom(7)
      const name = Array.from({ length: 20_000 }, () => random.next().toString(36)[2]).join('')
      const tooLong: Account = { id: 'long', name, tenant: 't' }
      const code = await tables.change([write(accounts, tooLong)]).catch(codeOf)
      assert.ok(code === undefined || code === 'HDL_ROW_REFUSED', String(code))
      const [found] = await tables.byIds(accounts, ['long'])
      assert.equal(found?.name, code === undefined ? name : undefined)
      assert.equal(await tables.change([write(accounts, { id: 'short', name: 'n' })]), undefined)
    },
  },
  {
    title: 'T1: a version that does not know a column leaves its values alone',
    async run(store) {
      const later = await store.connect([laterSamples, accounts, people])
      const { grants, commit } = await ownerOf(later)
      await commit(grants[0]!, put(laterSamples, { id: 'a', rank: 1, colour: 'red' }))
      const earlier = await store.connect()
      await earlier.openSession('a', 'a/2')
      await earlier.commit('a/2', 1, [
        { ...grants[0]!, rows: [put(samples, { id: 'a', rank: 2 })] },
      ])
      const [found] = await later.tables.byIds(laterSamples, ['a'])
      assert.deepEqual(plain(found), { id: 'a', rank: 2, colour: 'red', revision: 2 })
      const [known] = await earlier.tables.byIds(samples, ['a'])
      assert.deepEqual(plain(known), { id: 'a', rank: 2, revision: 2 })
    },
    needsLaterVersion: true,
  },
  {
    title: 'T2, C2: rows of one commit are applied in order, those of a refused batch are not',
    async run(store) {
      const database = await store.connect()
      const { grants, commitAll } = await ownerOf(database)
      const [one, two] = grants as [Grant, Grant]
      const of = (id: string, rank: number): TableRow => put(samples, { id, rank })
      await commitAll([
        [one, [of('a', 1), of('a', 2), of('b', 1), remove(samples, 'b')]],
        [one, [of('c', 1), remove(samples, 'c'), of('c', 3), remove(samples, 'none')]],
        [{ ...two, epoch: 7 }, [of('a', 9), of('d', 9)]],
      ])
      const read = await database.tables.list(samples)
      assert.deepEqual(
        read.map(({ id, rank }) => [id, rank]),
        [
          ['a', 2],
          ['c', 3],
        ],
      )
    },
  },
  {
    title: 'C5: a take-over reads the records of its shards in one query',
    async run(store) {
      const database = await store.connect()
      const { grants, commitAll } = await ownerOf(database)
      const [one, two, three] = grants as [Grant, Grant, Grant]
      await commitAll([
        [one, [put(samples, { id: 'b' }), put(samples, { id: 'a' })]],
        [two, [put(samples, { id: 'c' })]],
        [three, [put(samples, { id: 'd' })]],
      ])
      const read = await database.tables.ofShards(samples, [three.shard, one.shard])
      assert.deepEqual(ids(read), ['a', 'b', 'd'])
      assert.deepEqual(await database.tables.ofShards(samples, []), [])
    },
  },
  {
    title:
      'T5: a list is ordered by a column, then by id; pages follow each other in both directions',
    async run(store) {
      const database = await store.connect()
      const { grants, commit } = await ownerOf(database)
      const records = Array.from({ length: 25 }, (_, index): Sample => {
        const id = `s${String((index * 7) % 25).padStart(2, '0')}`
        return { id, rank: index % 5, isOpen: index % 2 === 0, name: `n${index}` }
      })
      await commit(grants[0]!, ...records.map((record) => put(samples, record)))
      await commit(grants[0]!, put(samples, { id: 'without a rank', isOpen: true }))
      const sorted = records.toSorted((a, b) => a.rank! - b.rank! || (a.id < b.id ? -1 : 1))
      for (const descending of [false, true]) {
        const expected = descending ? sorted.toReversed() : sorted
        const pages: Sample[] = []
        let after: Cursor | undefined
        for (;;) {
          const query = { by: 'rank', limit: 4, after, descending } as const
          const page = await database.tables.list(samples, query)
          pages.push(...page)
          if (page.length < 4) break
          after = cursorOf(page.at(-1)!, 'rank')
        }
        assert.deepEqual(ids(pages), ids(expected))
        const open = await database.tables.list(samples, {
          where: { isOpen: true },
          by: 'rank',
          from: 1,
          below: 4,
          descending,
        })
        const wanted = expected.filter(({ rank, isOpen }) => isOpen && rank! >= 1 && rank! < 4)
        assert.deepEqual(ids(open), ids(wanted))
        assert.ok(wanted.length > 5)
      }
      const byName = await database.tables.list(samples, { where: { name: 'n3' } })
      assert.deepEqual(ids(byName), ['s21'])
      const byId = await database.tables.list(samples, { limit: 3, after: { id: 's21' } })
      assert.deepEqual(ids(byId), ['s22', 's23', 's24'])
      assert.deepEqual(await database.tables.list(samples, { by: 'rank', from: 99 }), [])
      await assert.rejects(database.tables.list(samples, { limit: 0 }), { code: 'HDL_BAD_OPTION' })
    },
  },
  {
    title: 'T5: text is ordered by code points',
    async run(store) {
      const { tables } = await store.connect()
      const names = ['', 'A', 'Z', 'a', 'ab', 'ä', '\ud7ff', '\ue000', '\uffee', '😀']
      const changes = names.map((name, index) =>
        write(accounts, { id: `${9 - index}`, name, tenant: 't' }),
      )
      assert.equal(await tables.change(changes.toReversed()), undefined)
      const read = await tables.list(accounts, { where: { tenant: 't' }, by: 'name' })
      assert.deepEqual(
        read.map(({ name }) => name),
        names,
      )
    },
  },
  {
    title: 'T4: a change is refused whole when a record is not as expected',
    async run(store) {
      const { tables } = await store.connect()
      const ann: Account = { id: 'ann', name: 'Ann' }
      assert.equal(await tables.change([write(accounts, ann, 'absent')]), undefined)
      const bob: Account = { id: 'bob', name: 'Bob' }
      const refused = await tables.change([
        write(accounts, bob, 'absent'),
        write(accounts, { ...ann, name: 'Anna' }, 'absent'),
      ])
      assert.deepEqual(refused, { why: 'changed', index: 1 })
      assert.deepEqual(ids(await tables.list(accounts)), ['ann'])
      assert.deepEqual(await tables.change([erase(accounts, 'ann', 7)]), {
        why: 'changed',
        index: 0,
      })
      assert.deepEqual(await tables.change([erase(accounts, 'bob', 1)]), {
        why: 'changed',
        index: 0,
      })
      const renamed = [write(accounts, { ...ann, name: 'Anna' }, 1), write(accounts, bob)]
      assert.equal(await tables.change(renamed), undefined)
      const read = await tables.byIds(accounts, ['ann', 'bob'])
      assert.deepEqual(
        read.map((record) => [record!.name, record!.revision]),
        [
          ['Anna', 2],
          ['Bob', 1],
        ],
      )
      assert.equal(
        await tables.change([erase(accounts, 'ann', 2), erase(accounts, 'none')]),
        undefined,
      )
      assert.deepEqual(ids(await tables.list(accounts)), ['bob'])
    },
  },
  {
    title: 'T4: unique values exist once; the refusal names the record that has them',
    async run(store) {
      const { tables } = await store.connect()
      const of = (id: string, name: string, tenant?: string): Account => ({
        id,
        name,
        ...(tenant !== undefined && { tenant }),
      })
      assert.equal(await tables.change([write(accounts, of('1', 'x', 't'))]), undefined)
      const refused = await tables.change([
        write(accounts, of('2', 'y', 't')),
        write(accounts, of('3', 'x', 't')),
      ])
      assert.deepEqual(refused, { why: 'taken', index: 1, by: '1' })
      // The same name elsewhere, or without a tenant, is not the same.
      const others = [of('4', 'x', 'u'), of('5', 'x'), of('6', 'x'), of('1', 'x', 't')]
      assert.equal(await tables.change(others.map((record) => write(accounts, record))), undefined)
      assert.deepEqual(ids(await tables.list(accounts)), ['1', '4', '5', '6'])
    },
  },
  {
    title: 'T4: of two processes that change one record at the same moment one is refused',
    async run(store) {
      const [one, two] = [await store.connect(), await store.connect()]
      for (let round = 0; round < 15; round++) {
        const id = `r${round}`
        const made = await Promise.all([
          one.tables.change([write(accounts, { id, name: 'one' }, 'absent')]),
          two.tables.change([write(accounts, { id, name: 'two' }, 'absent')]),
        ])
        assert.equal(made.filter((refusal) => refusal === undefined).length, 1, `made, ${id}`)
        const changed = await Promise.all([
          one.tables.change([write(accounts, { id, name: 'one' }, 1)]),
          two.tables.change([write(accounts, { id, name: 'two' }, 1)]),
        ])
        assert.equal(changed.filter((refusal) => refusal === undefined).length, 1, `changed, ${id}`)
        const taken = await Promise.all([
          one.tables.change([write(accounts, { id: `a${id}`, name: id, tenant: 't' })]),
          two.tables.change([write(accounts, { id: `b${id}`, name: id, tenant: 't' })]),
        ])
        assert.equal(taken.filter((refusal) => refusal === undefined).length, 1, `taken, ${id}`)
      }
    },
  },
  {
    title: 'T6: the clock of the store is one for all its processes',
    async run(store) {
      const [one, two] = [await store.connect(), await store.connect()]
      const times = [await one.tables.now(), await two.tables.now(), await one.tables.now()]
      assert.ok(times.every(Number.isFinite) && times[0]! > Date.UTC(2020, 0), times.join())
      // Read one after the other by one clock.
      assert.deepEqual(
        times,
        times.toSorted((a, b) => a - b),
      )
    },
  },
  {
    title: 'C12: old records are removed in slices',
    async run(store) {
      const { tables } = await store.connect()
      const records = Array.from({ length: 20 }, (_, at) =>
        write(accounts, { id: `${at}`, name: `n${at}`, at }),
      )
      await tables.change([...records, write(accounts, { id: 'undated', name: 'u' })])
      assert.equal(await tables.removeBelow(accounts, 'at', 15, 10), 10)
      assert.equal(await tables.removeBelow(accounts, 'at', 15, 10), 5)
      assert.equal(await tables.removeBelow(accounts, 'at', 15), 0)
      const left = await tables.list(accounts, { by: 'at' })
      assert.deepEqual(ids(left), ['15', '16', '17', '18', '19'])
      assert.equal((await tables.byIds(accounts, ['undated']))[0]?.name, 'u')
    },
  },
  {
    title:
      'T3: a table that no role has declared, or that has unique columns, is not written by a batch',
    async run(store) {
      const database = await store.connect()
      const { grants, commit } = await ownerOf(database)
      const bad = { code: 'HDL_BAD_OPTION' }
      await assert.rejects(
        async () => commit(grants[0]!, put(accounts, { id: 'a', name: 'a' })),
        bad,
      )
      const unknown: Table<Sample> = { ...samples, name: 'test_unknown' }
      await assert.rejects(async () => database.tables.list(unknown), bad)
    },
  },
]

/** Bytes as plain arrays of their own, so that a Buffer equals a Uint8Array. */
function plain(record: Sample | undefined): unknown {
  if (record?.body === undefined) return record
  return { ...record, body: Uint8Array.from(record.body) }
}
