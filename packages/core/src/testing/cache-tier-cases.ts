import assert from 'node:assert/strict'
import { HeddleError } from '../errors.ts'
import type { CacheTier, ParentVersion, TierWrite } from '../cache/tier.ts'

/** One check of a tier. */
export interface TierCase {
  readonly name: string
  readonly run: () => Promise<void>
}

/** Opens an empty tier that holds at most this many bytes. */
export type TierFactory = (options: { readonly maxBytes: number }) => Promise<CacheTier>

const ample = 2 ** 24

interface EntryOptions {
  readonly version?: number
  readonly ttl?: number
  readonly parent?: ParentVersion
}

const entry = (text: string, options: EntryOptions = {}): TierWrite => ({
  version: options.version ?? 1,
  createdAt: 1_000_000,
  ttl: options.ttl ?? Infinity,
  parent: options.parent,
  body: new TextEncoder().encode(text),
})

const bytes = (length: number, version = 1): TierWrite => ({
  ...entry('', { version }),
  body: new Uint8Array(length).fill(version),
})

async function textOf(tier: CacheTier, key: string): Promise<string | undefined> {
  const found = await tier.read(key)
  return found === undefined ? undefined : new TextDecoder().decode(found.body)
}

async function keysOf(tier: CacheTier, keys: readonly string[]): Promise<string[]> {
  const found = await Promise.all(keys.map(async (key) => (await tier.peek(key)) !== undefined))
  return keys.filter((_key, index) => found[index])
}

/** Pieces of these lengths, and then an error if there is one. */
async function* inPieces(
  lengths: readonly number[],
  error?: Error,
): AsyncGenerator<Uint8Array<ArrayBuffer>, void, undefined> {
  for (const [index, length] of lengths.entries()) {
    await Promise.resolve()
    yield new Uint8Array(length).fill(index)
  }
  if (error !== undefined) throw error
}

const cases: Record<string, (open: TierFactory) => Promise<void>> = {
  'returns the written value, with all its metadata': async (open) => {
    const tier = await open({ maxBytes: ample })
    assert.equal(await tier.read('key'), undefined)
    assert.equal(await tier.peek('key'), undefined)
    await tier.write('parent', entry('parent', { version: 3 }))
    const parent = { key: 'parent', version: 3 }
    // Long enough not to be over by any clock.
    const ttl = 2 ** 45
    await tier.write('key', entry('value', { version: 7, ttl, parent }))
    const { body, ...meta } = (await tier.read('key'))!
    assert.equal(new TextDecoder().decode(body), 'value')
    for (const found of [meta, (await tier.peek('key'))!]) {
      assert.deepEqual([found.version, found.createdAt, found.ttl], [7, 1_000_000, ttl])
      assert.deepEqual({ ...found.parent }, parent)
    }
    assert.equal((await tier.peek('parent'))?.ttl, Infinity)
    await tier.close()
  },

  'gives back an empty value': async (open) => {
    const tier = await open({ maxBytes: ample })
    await tier.write('key', entry(''))
    assert.equal(await textOf(tier, 'key'), '')
    await tier.close()
  },

  'says whether there was an entry before': async (open) => {
    const tier = await open({ maxBytes: ample })
    assert.equal(await tier.delete('key', 9), false)
    assert.equal(await tier.write('key', entry('one')), false)
    assert.equal(await tier.write('key', entry('two', { version: 2 })), true)
    assert.equal(await textOf(tier, 'key'), 'two')
    assert.equal(await tier.delete('key', 9), true)
    assert.equal(await tier.delete('key', 9), false)
    assert.equal(await tier.read('key'), undefined)
    await tier.close()
  },

  'accepts any key, and distinguishes keys that differ in one character': async (open) => {
    const tier = await open({ maxBytes: ample })
    const keys = [
      'a',
      'A',
      ' a',
      'a\0',
      'a\0b',
      "'; DROP TABLE",
      '%',
      '../a',
      'é',
      'e\u0301',
      '\u{1f600}',
    ]
    keys.push('x'.repeat(10_000))
    await Promise.all(keys.map((key, index) => tier.write(key, entry(String(index)))))
    for (const [index, key] of keys.entries()) assert.equal(await textOf(tier, key), String(index))
    await tier.close()
  },

  'takes a value in pieces': async (open) => {
    const tier = await open({ maxBytes: ample })
    const lengths = [10, 300_000, 1, 2_000_000]
    await tier.write('key', { ...entry(''), body: inPieces(lengths) })
    const body = (await tier.read('key'))!.body
    const expected = Buffer.concat(lengths.map((length, index) => Buffer.alloc(length, index)))
    assert.ok(expected.equals(body))
    await tier.write('none', { ...entry(''), body: inPieces([]) })
    assert.equal((await tier.read('none'))?.body.length, 0)
    await tier.close()
  },

  'T1: changes nothing when the pieces throw, and passes the error on': async (open) => {
    const tier = await open({ maxBytes: ample })
    await tier.write('key', entry('old'))
    const error = new Error('no more')
    const body = inPieces([200_000, 200_000], error)
    await assert.rejects(tier.write('key', { ...entry('', { version: 2 }), body }), error)
    assert.equal(await textOf(tier, 'key'), 'old')
    assert.equal(tier.stats().entries, 1)
    await tier.close()
  },

  'T3: changing a parent deletes the entries derived from an earlier version of it': async (
    open,
  ) => {
    const tier = await open({ maxBytes: ample })
    const of = (version: number): TierWrite => entry('x', { parent: { key: 'parent', version } })
    const all = ['parent', 'of 1', 'of 2', 'of 4', 'other']
    await tier.write('parent', entry('one', { version: 1 }))
    await tier.write('of 1', of(1))
    // An entry derived from a version may be there before that version is.
    await tier.write('of 2', of(2))
    await tier.write('of 4', of(4))
    await tier.write('other', entry('x', { parent: { key: 'nobody', version: 1 } }))
    await tier.write('parent', entry('two', { version: 2 }))
    assert.deepEqual(await keysOf(tier, all), ['parent', 'of 2', 'of 4', 'other'])
    assert.equal(await tier.delete('parent', 3), true)
    assert.deepEqual(await keysOf(tier, all), ['of 4', 'other'])
    assert.equal(await tier.delete('parent', 5), false)
    assert.deepEqual(await keysOf(tier, all), ['other'])
    await tier.close()
  },

  'accepts entries again after a clear': async (open) => {
    const tier = await open({ maxBytes: ample })
    await tier.write('small', entry('x'))
    await tier.write('large', bytes(500_000))
    await tier.clear()
    assert.deepEqual(await keysOf(tier, ['small', 'large']), [])
    assert.equal(tier.stats().entries, 0)
    assert.equal(tier.stats().bytes, 0)
    await tier.write('large', bytes(500_000, 2))
    assert.equal((await tier.read('large'))?.body[0], 2)
    await tier.close()
  },

  'T4: stays within its bytes; the oldest leave, and are counted': async (open) => {
    const tier = await open({ maxBytes: 100_000 })
    for (let i = 0; i < 25; i++) {
      // Eleven fit, also where an entry counts with its overhead.
      await tier.write(`key ${i}`, bytes(8_400, i))
      assert.ok(tier.stats().bytes <= 100_000)
    }
    const { entries, evicted } = tier.stats()
    assert.equal(entries, 11)
    assert.equal(evicted.bytes, 14)
    assert.equal(await tier.peek('key 13'), undefined)
    assert.equal((await tier.read('key 14'))?.body[0], 14)
    await tier.close()
  },

  'T4: large entries count as well, and one that could never fit is refused': async (open) => {
    const tier = await open({ maxBytes: 1_000_000 })
    for (let i = 0; i < 5; i++) await tier.write(`key ${i}`, bytes(300_000, i))
    assert.deepEqual(await keysOf(tier, ['key 0', 'key 1', 'key 2', 'key 3', 'key 4']), [
      'key 2',
      'key 3',
      'key 4',
    ])
    const isTooLarge = (error: unknown): boolean =>
      error instanceof HeddleError && error.code === 'HDL_VALUE_TOO_LARGE'
    await assert.rejects(tier.write('huge', bytes(1_000_001)), isTooLarge)
    const body = inPieces([600_000, 600_000])
    await assert.rejects(tier.write('huge', { ...entry(''), body }), isTooLarge)
    assert.equal(tier.stats().entries, 3)
    await tier.close()
  },

  'T4: using an entry makes it the youngest, and derived entries are evicted with their parent':
    async (open) => {
      const tier = await open({ maxBytes: 100_000 })
      await tier.write('parent', entry('parent', { version: 1 }))
      for (const key of ['used', 'a', 'b', 'c', 'd']) await tier.write(key, bytes(18_000))
      await tier.write('derived', { ...bytes(10), parent: { key: 'parent', version: 1 } })
      await tier.read('used')
      await tier.write('last', bytes(20_000))
      const all = ['parent', 'derived', 'used', 'a', 'b', 'last']
      assert.deepEqual(await keysOf(tier, all), ['used', 'b', 'last'])
      await tier.close()
    },

  'keeps a thousand operations at once apart': async (open) => {
    const tier = await open({ maxBytes: ample })
    const keys = Array.from({ length: 1000 }, (_, index) => `key ${index}`)
    await Promise.all(keys.map((key, index) => tier.write(key, entry(key, { version: index }))))
    const odd = keys.filter((_key, index) => index % 2 === 1)
    await Promise.all(odd.map((key) => tier.delete(key, 9999)))
    const found = await Promise.all(keys.map((key) => textOf(tier, key)))
    assert.deepEqual(
      found,
      keys.map((key, index) => (index % 2 === 1 ? undefined : key)),
    )
    assert.equal(tier.stats().entries, 500)
    await tier.close()
  },
}

/**
 * The checks that every tier passes: give each to your test runner.
 *
 * @example
 * for (const { run } of cacheTierCases(async (options) => {
 *   const tier = memoryTier(options)
 *   await tier.open()
 *   return tier
 * })) {
 *   await run()
 * }
 */
export function cacheTierCases(open: TierFactory): readonly TierCase[] {
  return Object.entries(cases).map(([name, run]) => ({ name, run: () => run(open) }))
}
