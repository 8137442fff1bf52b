import assert from 'node:assert/strict'
import { test } from 'node:test'
import { shardCount, shardOf } from '../../src/store/shard-of.ts'

test('a name always has the same shard: stored rows depend on it', () => {
  assert.equal(shardOf(''), 0xc5 ^ 0x9d ^ 0x1c ^ 0x81)
  assert.equal(shardOf('nightly'), shardOf('nightly'))
  assert.equal(shardOf('20261115-224501-k3f9q2'), 166)
})

test('names that differ in their last characters spread over all shards', () => {
  const counts = Array.from({ length: shardCount }, () => 0)
  for (let run = 0; run < 25_600; run++) counts[shardOf(`20261115-2245-${run}`)]!++
  assert.ok(Math.min(...counts) > 50, `the emptiest shard has ${Math.min(...counts)} of 100`)
  assert.ok(Math.max(...counts) < 200, `the fullest shard has ${Math.max(...counts)} of 100`)
})
