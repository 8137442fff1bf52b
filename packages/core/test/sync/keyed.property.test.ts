import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { KeyedMutex, KeyedRwLock } from '../../src/sync/keyed.ts'
import { checkLock, type Caller, type Inside } from './lock-model.ts'

interface Kind {
  readonly key: string
  readonly mode: 'read' | 'write'
}

const keys = ['a', 'b', 'c']
const kinds = fc.record<Kind>({
  key: fc.constantFrom(...keys),
  mode: fc.constantFrom('read', 'write'),
})

/** The first in line of a key, when it fits. */
function next(exclusive: boolean) {
  return (inside: readonly Inside<Kind>[], waiting: readonly Caller<Kind>[]) => {
    for (const key of keys) {
      const first = waiting.find(({ kind }) => kind.key === key)
      const there = inside.filter(({ caller }) => caller.kind.key === key)
      const shares =
        !exclusive &&
        first?.kind.mode === 'read' &&
        there.every(({ caller }) => caller.kind.mode === 'read')
      if (first !== undefined && (there.length === 0 || shares))
        return { caller: first, reserved: 0 }
    }
    return undefined
  }
}

/** K1: exactly the keys that a caller holds or waits for. */
function checkKeys(
  locks: KeyedMutex<string> | KeyedRwLock<string>,
  inside: readonly Inside<Kind>[],
  waiting: readonly Caller<Kind>[],
): void {
  const busy = new Set(
    [...inside.map(({ caller }) => caller), ...waiting].map(({ kind }) => kind.key),
  )
  for (const key of keys) assert.equal(locks.has(key), busy.has(key))
  assert.equal(locks.stats().keys, busy.size)
}

test('K1: a keyed mutex has entries exactly for keys that a caller holds or waits for', () =>
  checkLock(
    kinds,
    (kernel) => {
      const locks = new KeyedMutex<string>({ kernel })
      return {
        acquire: ({ key }, options) => locks.acquire(key, options),
        tryAcquire: ({ key }) => locks.tryAcquire(key),
        check: (inside, waiting) => checkKeys(locks, inside, waiting),
      }
    },
    next(true),
  ))

test('K1: a keyed reader-writer lock has entries exactly for keys that are in use', () =>
  checkLock(
    kinds,
    (kernel) => {
      const locks = new KeyedRwLock<string>({ kernel })
      return {
        acquire: ({ key, mode }, options) => locks[mode](key, options),
        tryAcquire: ({ key, mode }) => (mode === 'read' ? locks.tryRead(key) : locks.tryWrite(key)),
        check: (inside, waiting) => checkKeys(locks, inside, waiting),
      }
    },
    next(false),
  ))
