import assert from 'node:assert/strict'
import test from 'node:test'
import { QuietReporter } from '../../src/output/quiet.ts'
import type { Reporter } from '../../src/output/reporter.ts'
import { textOf } from '../../src/text/line.ts'
import { unicodeSymbols } from '../../src/text/symbols.ts'
import { node } from '../support/output.ts'

test('only failures and notices are printed, each in one printable line', () => {
  const lines: string[] = []
  using reporter: Reporter = new QuietReporter((line) => lines.push(textOf(line)), unicodeSymbols)
  reporter.observe({ type: 'start', at: 0, nodes: 3 })
  reporter.observe(node('a', 'running'))
  reporter.observe({ type: 'log', at: 1, name: 'a', attempt: 0, text: 'hello' })
  reporter.observe(node('a', 'succeeded', { at: 2 }))
  reporter.observe(node('b\u001b[2J', 'retrying', { error: new Error('once') }))
  reporter.observe(node('b\u001b[2J', 'failed', { error: new TypeError('two\nlines') }))
  reporter.observe(node('c', 'blocked', { blockedBy: 'b' }))
  reporter.gap({ startedAt: 0, ms: 212, label: 'job "a"', stack: [], certain: true })
  reporter.notice('cancelling (SIGTERM)')
  assert.deepEqual(lines, ['✗ b: TypeError: two lines', '! cancelling (SIGTERM)'])
})
