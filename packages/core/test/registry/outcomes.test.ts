import assert from 'node:assert/strict'
import { test } from 'node:test'
import { HeddleError, type CancelSource } from '../../src/errors.ts'
import { outcomeOf } from '../../src/registry/outcomes.ts'

const cancelledBy = (source: CancelSource): HeddleError =>
  new HeddleError('HDL_CANCELLED', { what: 'It', source })

test('an error says which outcome it stands for', () => {
  const cases = [
    [new Error('no'), 'error'],
    ['not even an error', 'error'],
    [new HeddleError('HDL_GONE', { what: 'It' }), 'error'],
    [new HeddleError('HDL_TIMEOUT', { what: 'It', limit: 1 }), 'timeout'],
    [new HeddleError('HDL_SUPERSEDED', { what: 'It', by: 'that' }), 'superseded'],
    [new HeddleError('HDL_OVERLOADED', { what: 'It', retryAfter: 1 }), 'rejected'],
    [new HeddleError('HDL_DRAINING', { what: 'It' }), 'rejected'],
    [new HeddleError('HDL_TOO_MANY_WAITERS', { what: 'It', limit: 1 }), 'rejected'],
    [cancelledBy('user'), 'cancelled'],
    [cancelledBy('shutdown'), 'cancelled'],
    [cancelledBy('disconnect'), 'disconnected'],
    [cancelledBy('deadline'), 'timeout'],
    [cancelledBy('superseded'), 'superseded'],
  ] as const
  for (const [error, outcome] of cases) assert.equal(outcomeOf(error), outcome, String(error))
})
