import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { RunEvent } from '@heddle/core'
import { StageTimes } from '../../src/report/stage-times.ts'

test('the time of a stage is the sum of all its attempts, without the waits between them', () => {
  const times = new StageTimes()
  const see = (name: string, state: string, at: number): void =>
    times.observe({ type: 'node', name, state, at, attempt: 0 } as RunEvent)
  see('a upload', 'running', 100)
  see('a upload', 'retrying', 150)
  see('a upload', 'running', 1_000)
  see('a upload', 'succeeded', 1_025.4)
  see('a build', 'running', 0)
  see('all checks', 'running', 0)
  see('all checks', 'succeeded', 9)
  see('b build', 'blocked', 10)
  assert.deepEqual(times.of('a'), { upload: 75 })
  assert.deepEqual(times.of('b'), {})
})
