import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import type { CallSiteObject } from 'node:util'
import { runBlamed, countWatch } from '../../src/watch/blame.ts'
import { currentStack, shortenStack } from '../../src/watch/short-stack.ts'

function site(functionName: string, scriptName: string): CallSiteObject {
  return {
    functionName,
    scriptName,
    scriptId: '1',
    lineNumber: 3,
    columnNumber: 7,
  }
}

test('user frames come first, then public Node functions; the inside of Node is left out', () => {
  const { frames, inNode } = shortenStack(
    [
      site('getStderr', 'node:internal/bootstrap/switches/is_main_thread'),
      site('execFileSync', 'node:child_process'),
      site('build', 'file:///app/build.ts'),
      site('', 'file:///app/main.ts'),
      site('runNextTicks', 'node:internal/process/task_queues'),
      site('', ''),
    ],
    10,
  )
  assert.equal(inNode, true)
  assert.deepEqual(frames, [
    'build (/app/build.ts:3:7)',
    '/app/main.ts:3:7',
    'execFileSync (node:child_process:3:7)',
  ])
})

test('the stack is cut at its limit, from the outer end', () => {
  const sites = Array.from({ length: 50 }, (_, i) => site(`f${i}`, 'file:///a.ts'))
  assert.deepEqual(shortenStack(sites, 2).frames, ['f0 (/a.ts:3:7)', 'f1 (/a.ts:3:7)'])
})

test('the current stack starts with its caller and hides the frames of the watch', () => {
  countWatch(1)
  try {
    const { frames, inNode } = runBlamed('label', function guilty() {
      return currentStack(5)
    })
    const [first, second] = frames
    assert.equal(inNode, false)
    const here = fileURLToPath(import.meta.url)
    assert.ok(first?.startsWith(`guilty (${here}:`), first)
    assert.ok(second?.includes(here), second)
  } finally {
    countWatch(-1)
  }
})
