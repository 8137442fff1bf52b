import assert from 'node:assert/strict'
import { test } from 'node:test'
import { levelOf, logLevels, type LogEvent } from '../../src/log/log-event.ts'

test('events that need an operator are warnings or errors, everyday events of clients are not', () => {
  const cases: readonly (readonly [LogEvent, string])[] = [
    [{ event: 'refused', status: 400 }, 'info'],
    [{ event: 'refused', status: 429 }, 'warn'],
    [{ event: 'refused', status: 503 }, 'warn'],
    [{ event: 'refused' }, 'info'],
    [{ event: 'cancelled', status: 499 }, 'info'],
    [{ event: 'broken_pipe', status: 200 }, 'info'],
    [{ event: 'timeout', status: 504 }, 'warn'],
    [{ event: 'failed', status: 500 }, 'error'],
    [{ event: 'worker_error' }, 'error'],
  ]
  for (const [event, level] of cases) assert.equal(levelOf(event), level, JSON.stringify(event))
  assert.ok(cases.every(([, level]) => logLevels.some((known) => known === level)))
})
