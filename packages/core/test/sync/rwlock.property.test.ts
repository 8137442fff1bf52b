import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { RwLock } from '../../src/sync/rwlock.ts'
import { checkLock, type Inside } from './lock-model.ts'

type Mode = 'read' | 'write'

const writing = (inside: readonly Inside<Mode>[]): boolean =>
  inside.some(({ caller }) => caller.kind === 'write')

test('R1, R2, R3: a reader-writer lock lets in the first of its line when it fits', () =>
  checkLock<Mode>(
    fc.constantFrom('read', 'read', 'write'),
    (kernel) => {
      const lock = new RwLock({ kernel })
      return {
        acquire: (mode, options) => lock[mode](options),
        tryAcquire: (mode) => (mode === 'read' ? lock.tryRead() : lock.tryWrite()),
        check: (inside, waiting) => {
          assert.ok(inside.length <= 1 || !writing(inside))
          assert.ok(waiting.length === 0 || inside.length > 0)
          assert.deepEqual(lock.stats(), {
            readers: writing(inside) ? 0 : inside.length,
            writing: writing(inside),
            waitingReaders: waiting.filter(({ kind }) => kind === 'read').length,
            waitingWriters: waiting.filter(({ kind }) => kind === 'write').length,
          })
        },
      }
    },
    (inside, [first]) => {
      const fits = first?.kind === 'write' ? inside.length === 0 : !writing(inside)
      return first !== undefined && fits ? { caller: first, reserved: 0 } : undefined
    },
  ))
