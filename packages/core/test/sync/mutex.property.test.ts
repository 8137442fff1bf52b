import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { Mutex } from '../../src/sync/mutex.ts'
import { checkLock } from './lock-model.ts'

test('M1, M2: a mutex is a list of which the first is inside', () =>
  checkLock(
    fc.constant('lock'),
    (kernel) => {
      const mutex = new Mutex({ kernel })
      return {
        acquire: (_kind, options) => mutex.acquire(options),
        tryAcquire: () => mutex.tryAcquire(),
        check: (inside, waiting) => {
          assert.ok(inside.length <= 1)
          assert.deepEqual(mutex.stats(), { held: inside.length === 1, waiting: waiting.length })
        },
      }
    },
    (inside, [first]) =>
      first === undefined || inside.length > 0 ? undefined : { caller: first, reserved: 0 },
  ))
