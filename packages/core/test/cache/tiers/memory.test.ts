import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cacheTierCases } from '../../../src/testing/cache-tier-cases.ts'
import { memoryTier } from '../../../src/cache/tiers/memory.ts'

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
