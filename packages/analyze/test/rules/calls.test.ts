import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { CallSite, FunctionUnit } from '../../src/ir/program.ts'
import { Calls } from '../../src/rules/calls.ts'

test('one name may be called more often than a function takes arguments', () => {
  const site = { name: 'close', callbacks: [] as const } as unknown as CallSite
  const unit = { calls: Array.from({ length: 300_000 }, () => site) } as unknown as FunctionUnit
  const calls = new Calls([unit])
  assert.equal(calls.matching(/^close$/).length, 300_000)
  assert.equal(calls.named('close').length, 300_000)
  assert.deepEqual(calls.matching(/^open$/), [])
})
