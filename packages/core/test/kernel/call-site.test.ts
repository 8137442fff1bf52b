import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { currentCallSites, formatPosition } from '../../src/kernel/call-site.ts'

test('the innermost call site is the line that asks', () => {
  const [site] = currentCallSites(1)
  assert.match(formatPosition(site!), new RegExp(`^${fileURLToPath(import.meta.url)}:7:\\d+$`))
})
