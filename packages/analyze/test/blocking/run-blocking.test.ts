import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runBlocking } from '../../src/blocking/run-blocking.ts'
import type { Program } from '../../src/ir/program.ts'
import { loadCatalogue } from '../../src/models/load.ts'

/** A program that cannot be read. */
const broken = {
  get files(): never {
    throw new Error('no files')
  },
} as unknown as Program

test('a failure is reported, and does not fail the analysis', async () => {
  const { findings, diagnostics } = runBlocking(broken, await loadCatalogue())
  assert.deepEqual(findings, [])
  assert.match(diagnostics[0]!.message, /The blocking rules failed: no files/)
  assert.equal(diagnostics[0]!.isIncomplete, true)
})

test('blocking rules are not evaluated when only other rules are selected', async () => {
  const results = runBlocking(broken, await loadCatalogue(), ['H101'])
  assert.deepEqual(results, { findings: [], diagnostics: [] })
})
