import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cacheTierCases } from '../../../src/testing/cache-tier-cases.ts'
import { memoryTier } from '../../../src/cache/tiers/memory-tier.ts'

const open = async (options: { maxBytes: number }) => {
  const tier = memoryTier(options)
  await tier.open()
  return tier
}

for (const { name, run } of cacheTierCases(open)) test(`memory tier: ${name}`, run)

test('the highest version is remembered, also when its entry has gone', async () => {
  const tier = memoryTier()
  assert.equal(await tier.open(), 0)
  const body = new Uint8Array(1)
  await tier.write('key', { version: 5, createdAt: 0, ttl: Infinity, body })
  await tier.delete('key', 6)
  assert.equal(await tier.open(), 6)
})

test('options are checked', () => {
  assert.throws(() => memoryTier({ maxBytes: 0 }), { code: 'HDL_BAD_OPTION' })
})

test('an entry counts with its heap overhead besides its bytes: many small entries do not take several times the bound', async () => {
  const tier = await open({ maxBytes: 2 ** 20 })
  const body = new Uint8Array(1)
  for (let n = 0; n < 10_000; n++) {
    await tier.write(`key ${n}`, { version: n + 1, createdAt: 0, ttl: Infinity, body })
  }
  const { entries, bytes, evicted } = tier.stats()
  // 700 bytes and more were measured for one of them.
  assert.ok(entries * 600 <= 2 ** 20, `${entries} entries`)
  assert.ok(bytes <= 2 ** 20)
  assert.equal(entries + evicted.bytes, 10_000)
})
